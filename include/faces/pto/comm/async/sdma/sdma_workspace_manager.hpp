// SPDX-License-Identifier: Apache-2.0
// The workspace that a host prepares for asynchronous transfers. Here none is needed: it is memory
// that nothing reads.
#ifndef TERN_FACES_PTO_COMM_ASYNC_SDMA_SDMA_WORKSPACE_MANAGER_HPP
#define TERN_FACES_PTO_COMM_ASYNC_SDMA_SDMA_WORKSPACE_MANAGER_HPP

#include <memory>

#include "pto/comm/async/sdma/sdma_types.hpp"

namespace pto::comm::sdma
{

class SdmaWorkspaceManager
{
  public:
    template <typename... Arguments> bool Init(Arguments &&...)
    {
        workspace_ = std::make_unique<char[]>(kSdmaContextWorkspaceBytes);
        return true;
    }
    void *GetWorkspaceAddr() const
    {
        return workspace_.get();
    }
    void Finalize()
    {
        workspace_.reset();
    }

  private:
    std::unique_ptr<char[]> workspace_;
};

} // namespace pto::comm::sdma

#endif
