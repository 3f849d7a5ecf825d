// SPDX-License-Identifier: Apache-2.0
// C++ only. The base class of executors, and their life: part of coll_comm_executor.h.
#ifndef TERN_FACES_COLL_EXECUTOR_EXECUTOR_H
#define TERN_FACES_COLL_EXECUTOR_EXECUTOR_H

#include "coll_executor/tasks.h"

namespace hccl
{

struct CommParaInfo {
    CommParaInfo(CommPlane plane, CommType type, u32 rootRank = INVALID_VALUE_RANKID)
        : commPlane(plane), commType(type), root(rootRank)
    {
    }
    CommPlane commPlane;
    CommType commType;
    u32 root;
};

// The links of a rank in a plane, by rank. Its own place is null, and so is a missing link.
struct SubCommInfo {
    u32 localRank = 0;
    u32 localRankSize = 0;
    std::vector<LINK> links;
    std::vector<LINK> virtualLinks;
};

using SingleSubCommTransport = SubCommInfo;
using LevelNSubCommTransport = std::vector<SingleSubCommTransport>;
using OpCommTransport = std::vector<LevelNSubCommTransport>; // by CommPlane

struct AlgResourceRequest {
    u64 scratchMemSize = 0;
    u32 streamNum = 0;
    u32 notifyNum = 0;
    bool needAivBuffer = false;
    OpCommTransport opTransport;
};

// Of n notifies, notifiesMain has those of even and notifiesAux those of odd numbers.
struct AlgResourceResponse {
    DeviceMem cclInputMem;
    DeviceMem cclOutputMem;
    DeviceMem paramInputMem;
    DeviceMem paramOutputMem;
    DeviceMem scratchMem;
    std::vector<Stream> slaveStreams;
    std::vector<std::shared_ptr<LocalNotify>> notifiesMain;
    std::vector<std::shared_ptr<LocalNotify>> notifiesAux;
    std::vector<std::shared_ptr<LocalNotify>> notifiesM2S; // older names of the two
    std::vector<std::shared_ptr<LocalNotify>> notifiesS2M;
    OpCommTransport opTransportResponse;
};

class CollCommExecutor
{
  public:
    CollCommExecutor(const HcclDispatcher dispatcher, std::unique_ptr<TopoMatcher> &topoMatcher)
        : dispatcher_(dispatcher), topoMatcher_(topoMatcher)
    {
    }
    virtual ~CollCommExecutor()
    {
    }

    // All public: an executor may make what it overrides private.
    virtual HcclResult CalcResRequest(const OpParam &param, AlgResourceRequest &request)
    {
        CHK_RET(ParseParam(param));
        CHK_RET(CalcScratchMemSize(request.scratchMemSize));
        CHK_RET(CalcStreamNum(request.streamNum));
        CHK_RET(CalcNotifyNum(request.streamNum, request.notifyNum));
        CHK_RET(GetIfNeedAivBuffer(request.needAivBuffer));
        request.opTransport.resize(static_cast<std::size_t>(COMM_LEVEL_RESERVED));
        return CalcCommInfo(request.opTransport);
    }
    virtual HcclResult ParseParam(const OpParam &param)
    {
        tag_ = param.tag;
        return HCCL_SUCCESS;
    }
    virtual HcclResult CalcScratchMemSize(u64 &scratchMemSize)
    {
        scratchMemSize = 0;
        return HCCL_SUCCESS;
    }
    // Slave streams alone.
    virtual HcclResult CalcStreamNum(u32 &streamNum)
    {
        streamNum = 0;
        return HCCL_SUCCESS;
    }
    virtual HcclResult CalcNotifyNum(u32 streamNum, u32 &notifyNum)
    {
        notifyNum = 2 * streamNum;
        return HCCL_SUCCESS;
    }
    virtual HcclResult GetIfNeedAivBuffer(bool &needAivBuffer)
    {
        needAivBuffer = false;
        return HCCL_SUCCESS;
    }
    virtual HcclResult CalcCommInfo(std::vector<LevelNSubCommTransport> &opTransport)
    {
        (void)opTransport;
        return HCCL_SUCCESS;
    }
    virtual HcclResult KernelRun(const OpParam &param, ExecMem &execMem)
    {
        (void)param;
        (void)execMem;
        return HCCL_SUCCESS;
    }
    virtual HcclResult Orchestrate(OpParam &param, AlgResourceResponse &algRes) = 0;

  protected:
    HcclResult CalcCommPlaneInfo(const std::string &tag, const CommParaInfo &commParaInfo,
                                 LevelNSubCommTransport &commTransport,
                                 TransportMemType inPutMemType, TransportMemType outPutMemType)
    {
        (void)tag;
        (void)commParaInfo;
        (void)inPutMemType;
        (void)outPutMemType;
        commTransport.push_back(all_links());
        return HCCL_SUCCESS;
    }
    HcclResult CheckCommSize(const CommPlane levelIndex, const u32 expectSize, TERN_RECORD_HERE)
    {
        const std::size_t plane = static_cast<std::size_t>(levelIndex);
        const std::size_t size =
            algResResp_ != nullptr && plane < algResResp_->opTransportResponse.size()
                ? algResResp_->opTransportResponse[plane].size()
                : 0;
        if (size < expectSize) {
            ::tern_record_say(true, file, line,
                              "plane %zu has %zu communicators of links, not %u: CalcCommInfo asks "
                              "for them",
                              plane, size, expectSize);
            return HCCL_E_INTERNAL;
        }
        return HCCL_SUCCESS;
    }
    SubCommInfo GetSubCommInfo(const CommPlane levelIndex, const u32 subLevelIndex,
                               TERN_RECORD_HERE)
    {
        const std::size_t plane = static_cast<std::size_t>(levelIndex);
        if (algResResp_ == nullptr || plane >= algResResp_->opTransportResponse.size() ||
            subLevelIndex >= algResResp_->opTransportResponse[plane].size()) {
            ::tern_status_ignore(::tern_record_fail(file, line,
                                                    "plane %zu has no communicator %u of links",
                                                    plane, subLevelIndex));
            return SubCommInfo();
        }
        return algResResp_->opTransportResponse[plane][subLevelIndex];
    }

    HcclDispatcher dispatcher_;
    std::unique_ptr<TopoMatcher> &topoMatcher_;
    std::string tag_;
    AlgResourceResponse *algResResp_ = nullptr;
    HcclTopoAttr topoAttr_;

  private:
    SubCommInfo all_links() const
    {
        SubCommInfo info;
        info.localRank = topoAttr_.userRank;
        info.localRankSize = topoAttr_.userRankSize;
        for (u32 peer = 0; peer < topoAttr_.userRankSize; peer++) {
            info.links.push_back(
                LINK(static_cast<Transport *>(::tern_record_link(static_cast<int>(peer))), keep));
        }
        info.virtualLinks = info.links;
        return info;
    }
    static void keep(const void *)
    {
    } // the recording's

    static std::shared_ptr<LocalNotify> notify()
    {
        return std::shared_ptr<LocalNotify>(static_cast<LocalNotify *>(::tern_record_notify()),
                                            keep);
    }

    static HcclCMDType command_of(tern_plan_kind kind)
    {
        return kind == TERN_PLAN_ALL_REDUCE       ? HCCL_CMD_ALLREDUCE
               : kind == TERN_PLAN_REDUCE_SCATTER ? HCCL_CMD_REDUCE_SCATTER
               : kind == TERN_PLAN_ALL_GATHER     ? HCCL_CMD_ALLGATHER
               : kind == TERN_PLAN_ALL_TO_ALL     ? HCCL_CMD_ALLTOALL
               : kind == TERN_PLAN_REDUCE_TO_ROOT ? HCCL_CMD_REDUCE
               : kind == TERN_PLAN_GATHER         ? HCCL_CMD_GATHER
                                                  : HCCL_CMD_SCATTER;
    }

    static OpParam param_of(const tern_record_call &call)
    {
        OpParam param;
        param.tag = tern_coll_kind_name(call.kind);
        param.stream = Stream(::tern_record_stream());
        param.inputPtr = call.in;
        param.inputSize = call.in_bytes;
        param.outputPtr = call.out;
        param.outputSize = call.out_bytes;
        param.reduceType = HCCL_REDUCE_SUM;
        param.root = static_cast<u32>(call.root);
        param.opType = command_of(call.kind);
        param.DataDes.count = call.count;
        param.DataDes.dataType = tern_face::type_of(call.dtype);
        param.All2AllDataDes.sendType = param.DataDes.dataType;
        param.All2AllDataDes.recvType = param.DataDes.dataType;
        param.All2AllDataDes.sendCount = call.count;
        return param;
    }

    static void respond(const tern_record_call &call, const AlgResourceRequest &request,
                        AlgResourceResponse &response)
    {
        response.cclInputMem = DeviceMem(call.ccl_in, call.ccl_bytes);
        response.cclOutputMem = DeviceMem(call.ccl_out, call.ccl_bytes);
        response.paramInputMem = DeviceMem(call.in, call.in_bytes);
        response.paramOutputMem = DeviceMem(call.out, call.out_bytes);
        if (request.scratchMemSize > 0) {
            response.scratchMem = DeviceMem::alloc(request.scratchMemSize);
        }
        for (u32 i = 0; i < request.streamNum && i < TERN_RECORD_STREAMS_MAX; i++) {
            response.slaveStreams.push_back(Stream(::tern_record_stream()));
        }
        for (u32 i = 0; i < request.notifyNum / 2 && i < TERN_RECORD_NOTIFIES_MAX; i++) {
            response.notifiesMain.push_back(notify());
            response.notifiesAux.push_back(notify());
        }
        response.notifiesM2S = response.notifiesMain;
        response.notifiesS2M = response.notifiesAux;
        response.opTransportResponse = request.opTransport;
    }

  public:
    // The life of an executor on one rank; for the registration.
    HcclResult tern_run(const tern_record_call &call)
    {
        topoAttr_.userRank = static_cast<u32>(call.rank);
        topoAttr_.realUserRank = topoAttr_.userRank;
        topoAttr_.userRankSize = static_cast<u32>(call.nranks);
        topoAttr_.deviceNumPerServer = topoAttr_.userRankSize;
        topoAttr_.deviceNumPerAggregation = topoAttr_.userRankSize;
        topoAttr_.devicePhyId = call.rank;
        OpParam param = param_of(call);
        tag_ = param.tag;
        AlgResourceRequest request;
        AlgResourceResponse response;
        HcclResult result = CalcResRequest(param, request);
        if (result == HCCL_SUCCESS) {
            respond(call, request, response);
            algResResp_ = &response;
            result = Orchestrate(param, response);
            algResResp_ = nullptr;
        }
        return result;
    }
};

using CollNativeExecutorBase = CollCommExecutor;

namespace tern_face
{

// What cannot be told by a result.
inline int threw(const char *what)
{
    return ::tern_record_fail("executor", 0, "it threw %s%s%s",
                              what != nullptr ? "an exception: '" : "what is no std::exception",
                              what != nullptr ? what : "", what != nullptr ? "'" : "");
}

template <class Executor> int drive(const tern_record_call *call)
{
    try {
        static int dispatcher;
        std::unique_ptr<TopoMatcher> matcher(new TopoMatcher());
        std::unique_ptr<CollCommExecutor> executor(new Executor(&dispatcher, matcher));
        const HcclResult result = executor->tern_run(*call);
        if (result != HCCL_SUCCESS) {
            ::tern_record_returned("executor", 0, "it", static_cast<int>(result));
        }
        return result == HCCL_SUCCESS ? TERN_OK : TERN_ERR_ARG;
    } catch (const std::exception &error) {
        return threw(error.what());
    } catch (...) {
        return threw(nullptr);
    }
}

inline HcclResult register_executor(const char *name, tern_record_drive *drive, const char *file,
                                    int line)
{
    if (::tern_record_register(name, drive) == TERN_OK) {
        return HCCL_SUCCESS;
    }
    ::tern_record_say(false, file, line, "%s", tern_last_error());
    return HCCL_E_INTERNAL;
}

} // namespace tern_face

// `tag` is the name by which the executor is chosen; `name` makes the registration's own.
#ifndef REGISTER_EXEC
#define TERN_REGISTER_EXEC_JOIN(name, number) tern_registered_##name##_##number
#define TERN_REGISTER_EXEC_AT(tag, name, number, Class)                                            \
    static const ::HcclResult TERN_REGISTER_EXEC_JOIN(name, number) __attribute__((unused)) =      \
        ::hccl::tern_face::register_executor(tag, ::hccl::tern_face::drive<Class>, __FILE__,       \
                                             __LINE__)
#define TERN_REGISTER_EXEC_LINE(tag, name, number, Class)                                          \
    TERN_REGISTER_EXEC_AT(tag, name, number, Class)
#define REGISTER_EXEC(tag, name, Class) TERN_REGISTER_EXEC_LINE(tag, name, __LINE__, Class)
#endif

} // namespace hccl

#endif
