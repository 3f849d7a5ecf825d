// SPDX-License-Identifier: Apache-2.0
// What copies share: a std::shared_ptr with a function that ends it. <memory> would be most of what
// the compiler reads for a kernel.
#ifndef TERN_FACES_PTO_TERN_SHARED_HPP
#define TERN_FACES_PTO_TERN_SHARED_HPP

namespace pto::tern_detail
{

template <typename T> class shared
{
  public:
    shared() = default;
    shared(const shared &other) noexcept : owner_(other.owner_)
    {
        if (owner_ != nullptr) {
            __atomic_fetch_add(&owner_->count, 1, __ATOMIC_RELAXED);
        }
    }
    shared(shared &&other) noexcept : owner_(other.owner_)
    {
        other.owner_ = nullptr;
    }
    shared &operator=(shared other) noexcept
    {
        owner *mine = owner_;
        owner_ = other.owner_;
        other.owner_ = mine;
        return *this;
    }
    ~shared()
    {
        reset();
    }

    T *get() const
    {
        return owner_ != nullptr ? owner_->what : nullptr;
    }
    void reset() noexcept
    {
        if (owner_ != nullptr && __atomic_sub_fetch(&owner_->count, 1, __ATOMIC_ACQ_REL) == 0) {
            owner_->end(owner_->what);
            delete owner_;
        }
        owner_ = nullptr;
    }
    // The last copy that goes calls `end`.
    void reset(T *what, void (*end)(T *))
    {
        try {
            *this = shared(new owner{what, end, 1});
        } catch (...) {
            end(what);
            throw;
        }
    }

  private:
    struct owner {
        T *what;
        void (*end)(T *);
        int count;
    };

    explicit shared(owner *made) noexcept : owner_(made)
    {
    }

    owner *owner_ = nullptr;
};

} // namespace pto::tern_detail

#endif
