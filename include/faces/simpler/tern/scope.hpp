// SPDX-License-Identifier: Apache-2.0
// Scopes and log lines of orchestrations that are given their runtime.
#ifndef TERN_FACES_SIMPLER_TERN_SCOPE_HPP
#define TERN_FACES_SIMPLER_TERN_SCOPE_HPP

// PTO2ScopeGuard, for the header's own PTO2Runtime.
template <class Runtime> class tern_simpler_scope
{
  public:
    explicit tern_simpler_scope(Runtime *rt) : rt_(rt)
    {
        rt->ops->scope_begin(rt);
    }
    ~tern_simpler_scope()
    {
        rt_->ops->scope_end(rt_);
    }
    tern_simpler_scope(const tern_simpler_scope &) = delete;
    tern_simpler_scope &operator=(const tern_simpler_scope &) = delete;

  private:
    Runtime *rt_;
};

// PTO2_SCOPE(rt) { … }
#define PTO2_SCOPE(rt) if (PTO2ScopeGuard tern_scope_{rt}; true)

#define LOG_ERROR(rt, ...) (rt)->ops->log_error(__func__, __VA_ARGS__)
#define LOG_WARN(rt, ...) (rt)->ops->log_warn(__func__, __VA_ARGS__)
#define LOG_INFO(rt, ...) (rt)->ops->log_info(__func__, __VA_ARGS__)
#define LOG_DEBUG(rt, ...) (rt)->ops->log_debug(__func__, __VA_ARGS__)
#define LOG_ALWAYS(rt, ...) (rt)->ops->log_always(__func__, __VA_ARGS__)

#endif
