// SPDX-License-Identifier: Apache-2.0
// Every name of HCCL's executor framework that coll_comm_executor.h has, used as executors use it,
// with one include and no other header. test/system/executor_names.sh compiles it in every language
// standard and records it: the sum over two ranks, in 20 ways of saying so.
#include "coll_comm_executor.h"

static_assert(sizeof(u8) == 1 && sizeof(u32) == 4 && sizeof(u64) == 8 && sizeof(s32) == 4,
              "widths");
static_assert(HCCL_MIN_SLICE_ALIGN_910B == 16384 && HCCL_MIN_SLICE_ALIGN_910_93 == 16384 &&
                  HCCL_MIN_SLICE_ALIGN_ONCHIP == 512 && HCCL_MIN_SLICE_ALIGN == 128,
              "alignments");
static_assert(INLINE_REDUCE_BIT == 1 && PROF_STAGE_1 == 1 && COMM_INDEX_0 == 0 &&
                  INVALID_VALUE_RANKID == 0xFFFFFFFF,
              "constants");
static_assert(SIZE_TABLE[HCCL_DATA_TYPE_INT8] == 1 && SIZE_TABLE[HCCL_DATA_TYPE_INT16] == 2 &&
                  SIZE_TABLE[HCCL_DATA_TYPE_INT32] == 4 && SIZE_TABLE[HCCL_DATA_TYPE_FP16] == 2 &&
                  SIZE_TABLE[HCCL_DATA_TYPE_FP32] == 4 && SIZE_TABLE[HCCL_DATA_TYPE_INT64] == 8 &&
                  SIZE_TABLE[HCCL_DATA_TYPE_UINT64] == 8 && SIZE_TABLE[HCCL_DATA_TYPE_UINT8] == 1 &&
                  SIZE_TABLE[HCCL_DATA_TYPE_UINT16] == 2 &&
                  SIZE_TABLE[HCCL_DATA_TYPE_UINT32] == 4 && SIZE_TABLE[HCCL_DATA_TYPE_FP64] == 8 &&
                  SIZE_TABLE[HCCL_DATA_TYPE_BFP16] == 2 && SIZE_TABLE[HCCL_DATA_TYPE_INT128] == 16,
              "bytes of elements");

namespace hccl
{

static_assert(static_cast<int>(LinkType::LINK_ONCHIP) == 0 &&
                  static_cast<int>(LinkType::LINK_HCCS) == 1 &&
                  static_cast<int>(LinkType::LINK_PCIE) == 2 &&
                  static_cast<int>(LinkType::LINK_ROCE) == 3 &&
                  static_cast<int>(LinkType::LINK_SIO) == 4 &&
                  static_cast<int>(LinkType::LINK_HCCS_SW) == 5 &&
                  static_cast<int>(LinkType::LINK_STANDARD_ROCE) == 6 &&
                  static_cast<int>(LinkType::LINK_UB) == 7 &&
                  static_cast<int>(LinkType::LINK_RESERVED) == 255,
              "LinkType");
static_assert(static_cast<int>(TransportMemType::CCL_INPUT) == 0 &&
                  static_cast<int>(TransportMemType::CCL_OUTPUT) == 1 &&
                  static_cast<int>(TransportMemType::SCRATCH) == 2 &&
                  static_cast<int>(TransportMemType::PARAM_INPUT) == 3 &&
                  static_cast<int>(TransportMemType::PARAM_OUTPUT) == 4 &&
                  static_cast<int>(TransportMemType::AIV_INPUT) == 5 &&
                  static_cast<int>(TransportMemType::AIV_OUTPUT) == 6 &&
                  static_cast<int>(TransportMemType::RESERVED) == 7,
              "TransportMemType");
static_assert(static_cast<int>(UserMemType::INPUT_MEM) == 0 &&
                  static_cast<int>(UserMemType::OUTPUT_MEM) == 1 &&
                  static_cast<int>(UserMemType::MEM_RESERVED) == 2,
              "UserMemType");

class Names : public CollCommExecutor
{
  public:
    explicit Names(const HcclDispatcher dispatcher, std::unique_ptr<TopoMatcher> &topoMatcher)
        : CollCommExecutor(dispatcher, topoMatcher), aggregation_(topoAttr_.deviceNumPerAggregation)
    {
    }

  private: // with and without the word override; both are called through the base
    HcclResult CalcResRequest(const OpParam &param, AlgResourceRequest &resourceRequest)
    {
        return CollCommExecutor::CalcResRequest(param, resourceRequest);
    }
    HcclResult GetIfNeedAivBuffer(bool &needAivBuffer)
    {
        needAivBuffer = false;
        return HCCL_SUCCESS;
    }
    HcclResult CalcScratchMemSize(u64 &scratchMemSize)
#if __cplusplus >= 201402L
        override
#endif
    {
        scratchMemSize = 4096;
        return HCCL_SUCCESS;
    }
    HcclResult CalcStreamNum(u32 &streamNum)
    {
        streamNum = 1;
        return HCCL_SUCCESS;
    }
    HcclResult CalcNotifyNum(u32 streamNum, u32 &notifyNum)
    {
        notifyNum = 4 * streamNum;
        return HCCL_SUCCESS;
    }
    HcclResult CalcCommInfo(std::vector<LevelNSubCommTransport> &opTransport)
    {
        CommParaInfo commParaInfo(COMM_LEVEL0, CommType::COMM_TAG_MESH);
        LevelNSubCommTransport &level0 = opTransport[COMM_LEVEL0];
        CHK_RET(CalcCommPlaneInfo(tag_, commParaInfo, level0, TransportMemType::CCL_INPUT,
                                  TransportMemType::CCL_OUTPUT));
        return level0.size() == 1 ? HCCL_SUCCESS : HCCL_E_INTERNAL;
    }

    HcclResult Views(const DeviceMem &mem)
    {
        DeviceMem view = DeviceMem::create(mem.ptr(), mem.size());
        DeviceMem owned = DeviceMem::alloc(64);
        DeviceMem none;
        DeviceMem other(mem.ptr(), mem.size() - 1);
        bool right = view == mem && view != other && view && !none && owned.size() == 64 &&
                     view.range(8, 16).size() == 16 && none.ptr() == nullptr &&
                     view.range(8, 0).ptr() == static_cast<u8 *>(mem.ptr()) + 8;
        return right ? HCCL_SUCCESS : HCCL_E_INTERNAL;
    }

    HcclResult Signals(Stream &stream)
    {
        CHK_RET(link_->TxAck(stream));
        CHK_RET(link_->RxAck(stream));
        CHK_RET(link_->TxDataSignal(stream));
        CHK_RET(link_->RxDataSignal(stream));
        CHK_RET(link_->TxPrepare(stream));
        CHK_RET(link_->RxPrepare(stream));
        CHK_RET(link_->RxDone(stream));
        CHK_RET(link_->TxDone(stream));
        CHK_RET(link_->DataReceivedAck(stream));
        CHK_RET(link_->PostReady(stream));
        CHK_RET(link_->WaitReady(stream));
        CHK_RET(link_->PostFin(stream));
        CHK_RET(link_->WaitFin(stream));
        CHK_RET(link_->PostFinAck(stream));
        CHK_RET(link_->WaitFinAck(stream));
        CHK_RET(link_->Post(0, stream));
        CHK_RET(link_->Wait(0, stream, 27 * 68));
        CHK_RET(link_->TxWaitDone(stream));
        return link_->RxWaitDone(stream);
    }

    // Each adds nothing: of no bytes, or over what is the same already.
    HcclResult Transfers(Stream &stream, DeviceMem in, DeviceMem scratch)
    {
        void *theirs = nullptr;
        u64 size = 0;
        CHK_RET(link_->GetRemoteMem(UserMemType::INPUT_MEM, &theirs));
        CHK_RET(link_->GetRemoteMemSize(UserMemType::INPUT_MEM, size));
        if (size != in.size() || link_->GetRemoteRank() != 1 - me_ ||
            link_->GetLinkType() != LinkType::LINK_HCCS || !link_->IsSpInlineReduce()) {
            return HCCL_E_INTERNAL;
        }
        CHK_RET(link_->TxAsync(UserMemType::INPUT_MEM, 0, in.ptr(), 8, stream));
        CHK_RET(link_->RxAsync(UserMemType::INPUT_MEM, 0, scratch.ptr(), 8, stream));
        CHK_RET(link_->TxData(UserMemType::INPUT_MEM, 0, in.ptr(), 8, stream));
        CHK_RET(link_->RxData(UserMemType::INPUT_MEM, 0, scratch.ptr(), 8, stream));
        CHK_RET(Signals(stream));
        Transport::Buffer local(scratch.ptr(), 8);
        Transport::Buffer remote(theirs, 8);
        Transport::Buffer nothing(scratch.ptr(), 0);
        CHK_RET(link_->ReadAsync(local, remote, stream));
        CHK_RET(link_->ReadSync(local, remote, stream));
        CHK_RET(link_->WriteAsync(nothing, nothing, stream));
        CHK_RET(link_->WriteSync(nothing, nothing, stream));
        CHK_RET(link_->ReadReduceSync(nothing, nothing, type_, op_, stream));
        CHK_RET(link_->WriteReduceAsync(nothing, nothing, type_, op_, stream));
        CHK_RET(link_->TxWithReduce(UserMemType::INPUT_MEM, 0, in.ptr(), 0, type_, op_, stream));
        CHK_RET(link_->RxWithReduce(UserMemType::INPUT_MEM, 0, nullptr, 0, nullptr, nullptr, 0,
                                    type_, op_, stream, INLINE_REDUCE_BIT));
        CHK_RET(link_->Fence());
        return Signals(stream);
    }

    HcclResult KernelRun(const OpParam &param, ExecMem &execMem)
    {
        Stream &main = const_cast<Stream &>(param.stream);
        Stream &slave = algResResp_->slaveStreams[0];
        const u64 bytes = execMem.count * SIZE_TABLE[param.DataDes.dataType];
        DeviceMem in = execMem.inputMem;
        DeviceMem user = DeviceMem::create(execMem.inputPtr, bytes);
        DeviceMem out = DeviceMem::create(execMem.outputPtr, bytes);
        DeviceMem ownIn = in.range(0, bytes);
        CHK_RET(HcclD2DMemcpyAsync(dispatcher_, ownIn, user, main));
        CHK_RET(HcclD2DMemcpyAsync(dispatcher_, out, user, main, INVALID_VALUE_RANKID,
                                   LinkType::LINK_ONCHIP));
        CHK_RET(LocalNotify::Post(main, dispatcher_, algResResp_->notifiesAux[0]));
        CHK_RET(LocalNotify::Wait(slave, dispatcher_, algResResp_->notifiesAux[0]));
        CHK_RET(Signals(slave));
        CHK_RET(Transfers(slave, in, execMem.scratchMem));
        void *theirs = nullptr;
        CHK_RET(link_->GetRemoteMem(UserMemType::INPUT_MEM, &theirs));
        CHK_RET(HcclReduceAsync(dispatcher_, theirs, execMem.count, type_, op_, slave, out.ptr(),
                                link_->GetRemoteRank(), link_->GetLinkType(), INLINE_REDUCE_BIT));
        CHK_RET(HcclReduceAsync(dispatcher_, theirs, 0, type_, op_, slave, out.ptr(),
                                link_->GetRemoteRank(), link_->GetLinkType(), 0));
        CHK_RET(Signals(slave));
        CHK_RET(LocalNotify::Post(slave, dispatcher_, algResResp_->notifiesMain[0], PROF_STAGE_1));
        return LocalNotify::Wait(main, dispatcher_, algResResp_->notifiesMain[0], PROF_STAGE_1,
                                 NOTIFY_DEFAULT_WAIT_TIME);
    }

    HcclResult Orchestrate(OpParam &param, AlgResourceResponse &algRes)
    {
        algResResp_ = &algRes;
        tag_ = param.tag;
        CHK_PTR_NULL(param.inputPtr);
        CHK_PTR_NULL(dispatcher_);
        CHK_RET(CheckCommSize(COMM_LEVEL0, COMM_INDEX_0 + 1));
        if (CheckCommSize(COMM_LEVEL0, 2) != HCCL_E_INTERNAL) { // it asked for one
            return HCCL_E_PARA;
        }
        SubCommInfo info = GetSubCommInfo(COMM_LEVEL0, COMM_INDEX_0);
        me_ = topoAttr_.userRank;
        type_ = param.DataDes.dataType;
        op_ = param.reduceType;
        bool right = aggregation_ == 8 && info.localRank == me_ && info.localRankSize == 2 &&
                     topoAttr_.userRankSize == 2 && info.links.size() == 2 &&
                     info.virtualLinks.size() == 2 && info.links[me_] == nullptr &&
                     algRes.notifiesMain.size() == 2 && algRes.notifiesAux.size() == 2 &&
                     algRes.notifiesM2S.size() == 2 && algRes.notifiesS2M.size() == 2 &&
                     param.opType == HcclCMDType::HCCL_CMD_ALLREDUCE &&
                     param.DataDes.strideCount == 0 && param.inputSize == param.outputSize &&
                     param.outputPtr != nullptr && topoMatcher_ != nullptr;
        if (!right) {
            HCCL_ERROR("rank %u of %u: the response is wrong", info.localRank, info.localRankSize);
            return HCCL_E_INTERNAL;
        }
        link_ = info.links[1 - me_];
        HCCL_WARNING("nothing");
        HCCL_INFO("count %llu", param.DataDes.count);
        HCCL_DEBUG("nothing");
        HCCL_RUN_INFO("nothing");
        CHK_RET(Views(algRes.cclInputMem));
        ExecMem execMem;
        execMem.count = param.DataDes.count;
        execMem.inputMem = algRes.cclInputMem;
        execMem.outputMem = algRes.cclOutputMem;
        execMem.scratchMem = algRes.scratchMem;
        execMem.inputPtr = param.inputPtr;
        execMem.outputPtr = param.outputPtr;
        return KernelRun(param, execMem);
    }

    const u32 aggregation_; // before anything was set
    u32 me_ = 0;
    LINK link_;
    HcclDataType type_ = HCCL_DATA_TYPE_RESERVED;
    HcclReduceOp op_ = HCCL_REDUCE_RESERVED;
};

REGISTER_EXEC("NamesTest", NamesTestExecutor, Names);

} // namespace hccl
