// SPDX-License-Identifier: Apache-2.0
// C++ only. What appends tasks to streams: part of coll_comm_executor.h. Every call knows the file
// and line it stands in, by default arguments.
#ifndef TERN_FACES_COLL_EXECUTOR_TASKS_H
#define TERN_FACES_COLL_EXECUTOR_TASKS_H

#include "coll_executor/types.h"

namespace hccl
{

// Between tern's numbers and those of HCCL.
namespace tern_face
{

inline HcclResult result(int status)
{
    return status == TERN_OK           ? HCCL_SUCCESS
           : status == TERN_ERR_MEMORY ? HCCL_E_MEMORY
                                       : HCCL_E_PARA;
}

struct Type {
    HcclDataType theirs;
    tern_dtype ours;
};

inline const std::vector<Type> &types()
{
    static const std::vector<Type> all = {
        {HCCL_DATA_TYPE_INT8, TERN_I8},    {HCCL_DATA_TYPE_INT16, TERN_I16},
        {HCCL_DATA_TYPE_INT32, TERN_I32},  {HCCL_DATA_TYPE_FP16, TERN_F16},
        {HCCL_DATA_TYPE_FP32, TERN_F32},   {HCCL_DATA_TYPE_INT64, TERN_I64},
        {HCCL_DATA_TYPE_UINT64, TERN_U64}, {HCCL_DATA_TYPE_UINT8, TERN_U8},
        {HCCL_DATA_TYPE_UINT16, TERN_U16}, {HCCL_DATA_TYPE_UINT32, TERN_U32},
        {HCCL_DATA_TYPE_FP64, TERN_F64},   {HCCL_DATA_TYPE_BFP16, TERN_BF16},
    };
    return all;
}

inline bool dtype_of(HcclDataType theirs, tern_dtype *ours)
{
    for (const Type &type : types()) {
        if (type.theirs == theirs) {
            *ours = type.ours;
            return true;
        }
    }
    return false;
}

inline HcclDataType type_of(tern_dtype ours)
{
    for (const Type &type : types()) {
        if (type.ours == ours) {
            return type.theirs;
        }
    }
    return HCCL_DATA_TYPE_RESERVED;
}

inline HcclResult reduce(void *stream, void *to, const void *from, u64 count, HcclDataType dtype,
                         HcclReduceOp op, bool atomic, const char *file, int line)
{
    static const tern_reduce_op ops[] = {TERN_SUM, TERN_PROD, TERN_MAX, TERN_MIN};
    tern_record_reduce_task task;
    if (!dtype_of(dtype, &task.dtype) || static_cast<unsigned>(op) > 3) {
        return result(::tern_record_fail(file, line, "a reduce of data type %d, operation %d",
                                         static_cast<int>(dtype), static_cast<int>(op)));
    }
    task.to = to;
    task.from = from;
    task.count = count;
    task.op = ops[static_cast<unsigned>(op)];
    task.atomic = atomic;
    return result(::tern_record_reduce(stream, &task, file, line));
}

} // namespace tern_face

// Copies src.size() bytes.
inline HcclResult HcclD2DMemcpyAsync(HcclDispatcher dispatcher, DeviceMem &dst,
                                     const DeviceMem &src, Stream &stream,
                                     u32 remoteUserRank = INVALID_VALUE_RANKID,
                                     LinkType inLinkType = LINK_ONCHIP, TERN_RECORD_HERE)
{
    (void)dispatcher;
    (void)remoteUserRank;
    (void)inLinkType;
    return tern_face::result(
        ::tern_record_copy(stream.ptr(), dst.ptr(), dst.size(), src.ptr(), src.size(), file, line));
}

// dst[k] = dst[k] op src[k]. With INLINE_REDUCE_BIT at the memory, atomic per element.
inline HcclResult HcclReduceAsync(HcclDispatcher dispatcher, void *src, u64 count,
                                  HcclDataType datatype, HcclReduceOp reduceOp, Stream &stream,
                                  void *dst, u32 remoteUserRank = INVALID_VALUE_RANKID,
                                  LinkType linkType = LINK_ONCHIP,
                                  u64 reduceAttr = INLINE_REDUCE_BIT, TERN_RECORD_HERE)
{
    (void)dispatcher;
    (void)remoteUserRank;
    (void)linkType;
    return tern_face::reduce(stream.ptr(), dst, src, count, datatype, reduceOp,
                             (reduceAttr & INLINE_REDUCE_BIT) != 0, file, line);
}

// A bit. The object is the recording's; a null one is a sentence.
class LocalNotify
{
  public:
    static HcclResult Post(Stream &stream, HcclDispatcher dispatcher,
                           const std::shared_ptr<LocalNotify> &notify, s32 stage = -1,
                           TERN_RECORD_HERE)
    {
        (void)dispatcher;
        (void)stage;
        return tern_face::result(::tern_record_post(stream.ptr(), notify.get(), file, line));
    }
    static HcclResult Wait(Stream &stream, HcclDispatcher dispatcher,
                           const std::shared_ptr<LocalNotify> &notify, s32 stage = -1,
                           u32 timeOut = NOTIFY_DEFAULT_WAIT_TIME, TERN_RECORD_HERE)
    {
        (void)dispatcher;
        (void)stage;
        (void)timeOut;
        return tern_face::result(::tern_record_wait(stream.ptr(), notify.get(), file, line));
    }
};

// An end of a link to a peer. `this` is the recording's own object and is never followed here: a
// null link, one that is missing, is a sentence too.
class Transport
{
  public:
    struct Buffer {
        Buffer()
        {
        }
        Buffer(const void *addr_, u64 size_) : addr(addr_), size(size_)
        {
        }
        const void *addr = nullptr;
        u64 size = 0;
    };

    // Ack: the buffer may be read, or overwritten. DataSignal: the transfer is complete.
    HcclResult TxAck(Stream &stream, TERN_RECORD_HERE)
    {
        return post(stream, ACK, file, line);
    }
    HcclResult RxAck(Stream &stream, TERN_RECORD_HERE)
    {
        return wait(stream, ACK, file, line);
    }
    HcclResult TxDataSignal(Stream &stream, TERN_RECORD_HERE)
    {
        return post(stream, DATA, file, line);
    }
    HcclResult RxDataSignal(Stream &stream, TERN_RECORD_HERE)
    {
        return wait(stream, DATA, file, line);
    }

    HcclResult GetRemoteMem(UserMemType memType, void **remotePtr, TERN_RECORD_HERE)
    {
        return tern_face::result(::tern_record_link_memory(self(), memType == OUTPUT_MEM, remotePtr,
                                                           nullptr, file, line));
    }
    HcclResult GetRemoteMemSize(UserMemType memType, u64 &size, TERN_RECORD_HERE)
    {
        void *address = nullptr;
        uint64_t bytes = 0;
        const int status =
            ::tern_record_link_memory(self(), memType == OUTPUT_MEM, &address, &bytes, file, line);
        size = bytes;
        return tern_face::result(status);
    }
    u32 GetRemoteRank(TERN_RECORD_HERE)
    {
        return static_cast<u32>(::tern_record_link_peer(self(), file, line));
    }
    LinkType GetLinkType() const
    {
        return LINK_HCCS;
    }
    bool IsSpInlineReduce() const
    {
        return true;
    }
    HcclResult Fence() const
    {
        return HCCL_SUCCESS;
    } // tasks of a stream are in order

    // The same bits by their other names; the sender says that its bytes may be read, the
    // receiver reads them and says that it has.
    HcclResult TxPrepare(Stream &stream, TERN_RECORD_HERE)
    {
        return post(stream, ACK, file, line);
    }
    HcclResult RxPrepare(Stream &stream, TERN_RECORD_HERE)
    {
        return wait(stream, ACK, file, line);
    }
    HcclResult TxDone(Stream &stream, TERN_RECORD_HERE)
    {
        return wait(stream, DATA, file, line);
    }
    HcclResult RxDone(Stream &stream, TERN_RECORD_HERE)
    {
        return post(stream, DATA, file, line);
    }
    HcclResult TxData(UserMemType, u64, const void *, u64, Stream &)
    {
        return HCCL_SUCCESS;
    }
    HcclResult RxData(UserMemType srcMemType, u64 srcOffset, void *dst, u64 len, Stream &stream,
                      TERN_RECORD_HERE)
    {
        return pull(srcMemType, srcOffset, dst, len, stream, file, line);
    }
    HcclResult TxAsync(UserMemType, u64, const void *, u64, Stream &stream, TERN_RECORD_HERE)
    {
        return post(stream, DATA, file, line);
    }
    HcclResult RxAsync(UserMemType srcMemType, u64 srcOffset, void *dst, u64 len, Stream &stream,
                       TERN_RECORD_HERE)
    {
        const HcclResult status = wait(stream, DATA, file, line);
        return status != HCCL_SUCCESS ? status
                                      : pull(srcMemType, srcOffset, dst, len, stream, file, line);
    }
    // The sender reduces into the peer's buffer, then posts DataSignal; the receiver waits for it.
    HcclResult TxWithReduce(UserMemType dstMemType, u64 dstOffset, const void *src, u64 len,
                            HcclDataType datatype, HcclReduceOp redOp, Stream &stream,
                            TERN_RECORD_HERE)
    {
        void *address = nullptr;
        HcclResult status = GetRemoteMem(dstMemType, &address, file, line);
        if (status == HCCL_SUCCESS) {
            status = tern_face::reduce(stream.ptr(), static_cast<u8 *>(address) + dstOffset, src,
                                       elements(len, datatype), datatype, redOp, true, file, line);
        }
        return status != HCCL_SUCCESS ? status : post(stream, DATA, file, line);
    }
    HcclResult RxWithReduce(UserMemType, u64, void *, u64, void *, void *, u64, HcclDataType,
                            HcclReduceOp, Stream &stream, u64 = 0, TERN_RECORD_HERE)
    {
        return wait(stream, DATA, file, line);
    }
    HcclResult TxWaitDone(Stream &)
    {
        return HCCL_SUCCESS;
    } // of a link with RDMA
    HcclResult RxWaitDone(Stream &)
    {
        return HCCL_SUCCESS;
    }
    HcclResult DataReceivedAck(Stream &stream, TERN_RECORD_HERE)
    {
        HcclResult status = post(stream, ACK, file, line);
        status = status == HCCL_SUCCESS ? wait(stream, ACK, file, line) : status;
        status = status == HCCL_SUCCESS ? post(stream, DATA, file, line) : status;
        return status == HCCL_SUCCESS ? wait(stream, DATA, file, line) : status;
    }
    HcclResult PostReady(Stream &stream, TERN_RECORD_HERE)
    {
        return post(stream, ACK, file, line);
    }
    HcclResult WaitReady(Stream &stream, TERN_RECORD_HERE)
    {
        return wait(stream, ACK, file, line);
    }
    HcclResult PostFin(Stream &stream, TERN_RECORD_HERE)
    {
        return post(stream, DATA, file, line);
    }
    HcclResult WaitFin(Stream &stream, TERN_RECORD_HERE)
    {
        return wait(stream, DATA, file, line);
    }
    HcclResult PostFinAck(Stream &stream, TERN_RECORD_HERE)
    {
        return post(stream, DATA_ACK, file, line);
    }
    HcclResult WaitFinAck(Stream &stream, TERN_RECORD_HERE)
    {
        return wait(stream, DATA_ACK, file, line);
    }
    HcclResult Post(u32 notifyIdx, Stream &stream, TERN_RECORD_HERE)
    {
        return post(stream, FIRST_OTHER + number(notifyIdx), file, line);
    }
    HcclResult Wait(u32 notifyIdx, Stream &stream, u32 timeOut = NOTIFY_DEFAULT_WAIT_TIME,
                    TERN_RECORD_HERE)
    {
        (void)timeOut;
        return wait(stream, FIRST_OTHER + number(notifyIdx), file, line);
    }

    // One-sided. The smaller of both sizes is what the shorter side has, so they must be equal.
    HcclResult ReadAsync(const Buffer &localBuf, const Buffer &remoteBuf, Stream &stream,
                         TERN_RECORD_HERE)
    {
        return move(localBuf, remoteBuf, stream, file, line);
    }
    HcclResult WriteAsync(const Buffer &remoteBuf, const Buffer &localBuf, Stream &stream,
                          TERN_RECORD_HERE)
    {
        return move(remoteBuf, localBuf, stream, file, line);
    }
    HcclResult ReadSync(const Buffer &localBuf, const Buffer &remoteBuf, Stream &stream,
                        TERN_RECORD_HERE)
    {
        return move(localBuf, remoteBuf, stream, file, line);
    }
    HcclResult WriteSync(const Buffer &remoteBuf, const Buffer &localBuf, Stream &stream,
                         TERN_RECORD_HERE)
    {
        return move(remoteBuf, localBuf, stream, file, line);
    }
    HcclResult ReadReduceSync(const Buffer &localBuf, const Buffer &remoteBuf,
                              HcclDataType datatype, HcclReduceOp redOp, Stream &stream,
                              TERN_RECORD_HERE)
    {
        return add(localBuf, remoteBuf, datatype, redOp, stream, file, line);
    }
    HcclResult WriteReduceAsync(const Buffer &remoteBuf, const Buffer &localBuf,
                                HcclDataType datatype, HcclReduceOp redOp, Stream &stream,
                                TERN_RECORD_HERE)
    {
        return add(remoteBuf, localBuf, datatype, redOp, stream, file, line);
    }

  private:
    enum Bit { ACK, DATA, DATA_ACK, FIRST_OTHER };

    void *self()
    {
        return static_cast<void *>(this);
    }
    static int number(u32 index)
    {
        return index < TERN_RECORD_LINK_BITS ? static_cast<int>(index) : TERN_RECORD_LINK_BITS;
    }
    static u64 elements(u64 bytes, HcclDataType datatype)
    {
        const u32 size = static_cast<unsigned>(datatype) < HCCL_DATA_TYPE_RESERVED
                             ? SIZE_TABLE[static_cast<unsigned>(datatype)]
                             : 0;
        return size > 0 ? bytes / size : 0;
    }
    HcclResult post(Stream &stream, int bit, const char *file, int line)
    {
        return tern_face::result(::tern_record_link_post(stream.ptr(), self(), bit, file, line));
    }
    HcclResult wait(Stream &stream, int bit, const char *file, int line)
    {
        return tern_face::result(::tern_record_link_wait(stream.ptr(), self(), bit, file, line));
    }
    HcclResult pull(UserMemType type, u64 offset, void *dst, u64 len, Stream &stream,
                    const char *file, int line)
    {
        void *address = nullptr;
        const HcclResult status = GetRemoteMem(type, &address, file, line);
        return status != HCCL_SUCCESS
                   ? status
                   : tern_face::result(::tern_record_copy(stream.ptr(), dst, UINT64_MAX,
                                                          static_cast<u8 *>(address) + offset, len,
                                                          file, line));
    }
    HcclResult move(const Buffer &to, const Buffer &from, Stream &stream, const char *file,
                    int line)
    {
        return tern_face::result(::tern_record_copy(stream.ptr(), const_cast<void *>(to.addr),
                                                    to.size, from.addr, from.size, file, line));
    }
    HcclResult add(const Buffer &to, const Buffer &from, HcclDataType datatype, HcclReduceOp redOp,
                   Stream &stream, const char *file, int line)
    {
        return tern_face::reduce(stream.ptr(), const_cast<void *>(to.addr), from.addr,
                                 elements(from.size, datatype), datatype, redOp, true, file, line);
    }
};

using LINK = std::shared_ptr<Transport>;

} // namespace hccl

#endif
