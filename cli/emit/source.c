// SPDX-License-Identifier: Apache-2.0
// The source: a table with the tasks of each rank, and a class that appends those of its own. It
// needs one include and C++11. The plan's scratch is CCL_In and behind it CCL_Out, whatever their
// size is; a task that would be in both is refused there.

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit/emit.h"

static const char *const target_words[] = {
    [EMIT_ANY] = "", [EMIT_910B] = "910B", [EMIT_910_93] = "910_93", [EMIT_950] = "950"};

static const char head[] = "#include \"coll_comm_executor.h\"\n"
                           "\n"
                           "namespace hccl\n"
                           "{\n"
                           "namespace\n"
                           "{\n"
                           "\n"
                           "enum Kind : u8 {\n"
                           "    COPY,\n"
                           "    REDUCE,\n"
                           "    INLINE_REDUCE,\n"
                           "    LOCAL_POST,\n"
                           "    LOCAL_WAIT,\n"
                           "    TX_ACK,\n"
                           "    RX_ACK,\n"
                           "    TX_DATA,\n"
                           "    RX_DATA,\n"
                           "};\n"
                           "\n"
                           "enum Buffer : u8 { USER_IN, USER_OUT, CCL };\n"
                           "\n"
                           "// Bytes of a buffer of a rank.\n"
                           "struct Place {\n"
                           "    Buffer buffer;\n"
                           "    u32 rank;\n"
                           "    u64 offset;\n"
                           "};\n"
                           "\n"
                           "// number: of a notify, or the other end of a link.\n"
                           "struct Task {\n"
                           "    Kind kind;\n"
                           "    u32 queue, number;\n"
                           "    u64 bytes;\n"
                           "    Place from, to;\n"
                           "};\n"
                           "\n";

static const char body[] =
    "\n"
    "} // namespace\n"
    "\n"
    "class TernPlanExecutor : public CollCommExecutor\n"
    "{\n"
    "  public:\n"
    "    TernPlanExecutor(const HcclDispatcher dispatcher, std::unique_ptr<TopoMatcher> "
    "&topoMatcher)\n"
    "        : CollCommExecutor(dispatcher, topoMatcher)\n"
    "    {\n"
    "    }\n"
    "\n"
    "    HcclResult CalcStreamNum(u32 &streamNum) override\n"
    "    {\n"
    "        streamNum = QUEUES[Rank()] - 1;\n"
    "        return HCCL_SUCCESS;\n"
    "    }\n"
    "    HcclResult CalcNotifyNum(u32 streamNum, u32 &notifyNum) override\n"
    "    {\n"
    "        (void)streamNum;\n"
    "        notifyNum = NOTIFIES;\n"
    "        return HCCL_SUCCESS;\n"
    "    }\n"
    "    HcclResult CalcCommInfo(std::vector<LevelNSubCommTransport> &opTransport) override\n"
    "    {\n"
    "        CommParaInfo info(COMM_LEVEL0, CommType::COMM_TAG_MESH);\n"
    "        return CalcCommPlaneInfo(tag_, info, opTransport[COMM_LEVEL0], "
    "TransportMemType::CCL_INPUT,\n"
    "                                 TransportMemType::CCL_OUTPUT);\n"
    "    }\n"
    "    HcclResult Orchestrate(OpParam &param, AlgResourceResponse &algRes) override\n"
    "    {\n"
    "        tag_ = param.tag;\n"
    "        algResResp_ = &algRes;\n"
    "        ExecMem mem;\n"
    "        mem.count = param.DataDes.count;\n"
    "        mem.inputPtr = param.inputPtr;\n"
    "        mem.outputPtr = param.outputPtr;\n"
    "        mem.inputMem = algRes.cclInputMem;\n"
    "        mem.outputMem = algRes.cclOutputMem;\n"
    "        mem.scratchMem = algRes.scratchMem;\n"
    "        return KernelRun(param, mem);\n"
    "    }\n"
    "    HcclResult KernelRun(const OpParam &param, ExecMem &mem) override\n"
    "    {\n"
    "        CHK_RET(CheckCommSize(COMM_LEVEL0, COMM_INDEX_0 + 1));\n"
    "        comm_ = GetSubCommInfo(COMM_LEVEL0, COMM_INDEX_0);\n"
    "        type_ = param.DataDes.dataType;\n"
    "        if (comm_.localRankSize != RANKS || SIZE_TABLE[type_] != UNIT ||\n"
    "            param.DataDes.count * UNIT != BYTES) {\n"
    "            HCCL_ERROR(\"this executor is for %u ranks and %llu bytes in elements of %u\", "
    "RANKS,\n"
    "                       static_cast<unsigned long long>(BYTES), UNIT);\n"
    "            return HCCL_E_NOT_SUPPORT;\n"
    "        }\n"
    "        for (u32 i = FIRST[comm_.localRank]; i < FIRST[comm_.localRank + 1]; i++) {\n"
    "            CHK_RET(Append(TASKS[i], param, mem));\n"
    "        }\n"
    "        return HCCL_SUCCESS;\n"
    "    }\n"
    "\n"
    "  private:\n"
    "    u32 Rank() const\n"
    "    {\n"
    "        return topoAttr_.userRank < RANKS ? topoAttr_.userRank : 0;\n"
    "    }\n"
    "    HcclResult Link(u32 rank, LINK &link)\n"
    "    {\n"
    "        link = rank < comm_.links.size() ? comm_.links[rank] : nullptr;\n"
    "        if (link == nullptr) {\n"
    "            HCCL_ERROR(\"rank %u has no link to rank %u\", comm_.localRank, rank);\n"
    "            return HCCL_E_NOT_FOUND;\n"
    "        }\n"
    "        return HCCL_SUCCESS;\n"
    "    }\n"
    "    HcclResult Find(const Place &place, u64 bytes, ExecMem &mem, u8 *&address)\n"
    "    {\n"
    "        if (place.buffer != CCL) {\n"
    "            void *user = place.buffer == USER_IN ? mem.inputPtr : mem.outputPtr;\n"
    "            address = static_cast<u8 *>(user) + place.offset;\n"
    "            return HCCL_SUCCESS;\n"
    "        }\n"
    "        const u64 half = mem.inputMem.size(); // CCL_In, then CCL_Out\n"
    "        const bool second = place.offset >= half;\n"
    "        const u64 offset = second ? place.offset - half : place.offset;\n"
    "        const u64 size = second ? mem.outputMem.size() : half;\n"
    "        if (offset > size || bytes > size - offset) {\n"
    "            HCCL_ERROR(\"bytes %llu..%llu do not lie in one of the CCL buffers of %llu\",\n"
    "                       static_cast<unsigned long long>(place.offset),\n"
    "                       static_cast<unsigned long long>(place.offset + bytes),\n"
    "                       static_cast<unsigned long long>(half));\n"
    "            return HCCL_E_MEMORY;\n"
    "        }\n"
    "        void *base = second ? mem.outputMem.ptr() : mem.inputMem.ptr();\n"
    "        if (place.rank != comm_.localRank) {\n"
    "            LINK link;\n"
    "            CHK_RET(Link(place.rank, link));\n"
    "            CHK_RET(link->GetRemoteMem(second ? UserMemType::OUTPUT_MEM : "
    "UserMemType::INPUT_MEM, &base));\n"
    "        }\n"
    "        address = static_cast<u8 *>(base) + offset;\n"
    "        return HCCL_SUCCESS;\n"
    "    }\n"
    "    HcclResult Move(const Task &task, const OpParam &param, ExecMem &mem, Stream &stream)\n"
    "    {\n"
    "        u8 *from = nullptr;\n"
    "        u8 *to = nullptr;\n"
    "        CHK_RET(Find(task.from, task.bytes, mem, from));\n"
    "        CHK_RET(Find(task.to, task.bytes, mem, to));\n"
    "        const u32 remote = task.from.rank != comm_.localRank ? task.from.rank : "
    "task.to.rank;\n"
    "        LinkType type = LinkType::LINK_ONCHIP;\n"
    "        if (remote != comm_.localRank) {\n"
    "            LINK link;\n"
    "            CHK_RET(Link(remote, link));\n"
    "            type = link->GetLinkType();\n"
    "        }\n"
    "        if (task.kind == COPY) {\n"
    "            DeviceMem source = DeviceMem::create(from, task.bytes);\n"
    "            DeviceMem target = DeviceMem::create(to, task.bytes);\n"
    "            return HcclD2DMemcpyAsync(dispatcher_, target, source, stream, remote, type);\n"
    "        }\n"
    "        return HcclReduceAsync(dispatcher_, from, task.bytes / UNIT, type_, "
    "param.reduceType, stream,\n"
    "                               to, remote, type, task.kind == INLINE_REDUCE ? "
    "INLINE_REDUCE_BIT : 0);\n"
    "    }\n"
    "    HcclResult Append(const Task &task, const OpParam &param, ExecMem &mem)\n"
    "    {\n"
    "        Stream &stream = task.queue == 0 ? const_cast<Stream &>(param.stream)\n"
    "                                         : algResResp_->slaveStreams[task.queue - 1];\n"
    "        if (task.kind <= INLINE_REDUCE) {\n"
    "            return Move(task, param, mem, stream);\n"
    "        }\n"
    "        if (task.kind == LOCAL_POST || task.kind == LOCAL_WAIT) {\n"
    "            std::shared_ptr<LocalNotify> &notify =\n"
    "                task.number % 2 == 0 ? algResResp_->notifiesMain[task.number / 2]\n"
    "                                     : algResResp_->notifiesAux[task.number / 2];\n"
    "            return task.kind == LOCAL_POST ? LocalNotify::Post(stream, dispatcher_, notify)\n"
    "                                           : LocalNotify::Wait(stream, dispatcher_, notify);\n"
    "        }\n"
    "        LINK link;\n"
    "        CHK_RET(Link(task.number, link));\n"
    "        return task.kind == TX_ACK    ? link->TxAck(stream)\n"
    "               : task.kind == RX_ACK  ? link->RxAck(stream)\n"
    "               : task.kind == TX_DATA ? link->TxDataSignal(stream)\n"
    "                                      : link->RxDataSignal(stream);\n"
    "    }\n"
    "\n"
    "    SubCommInfo comm_;\n"
    "    HcclDataType type_ = HCCL_DATA_TYPE_RESERVED;\n"
    "};\n"
    "\n";

static void put_place(FILE *file, const tern_plan_range *range)
{
    static const char *const words[] = {
        [TERN_PLAN_IN] = "USER_IN", [TERN_PLAN_OUT] = "USER_OUT", [TERN_PLAN_SCRATCH] = "CCL"};
    fprintf(file, ", {%s, %u, %" PRIu64 "}", words[range->buffer], range->rank, range->offset);
}

static void put_transfer(FILE *file, int lane, const tern_plan_op *op)
{
    bool atomic = (op->flags & TERN_PLAN_ATOMIC) != 0;
    const char *kind = op->kind == TERN_PLAN_COPY ? "COPY" : atomic ? "INLINE_REDUCE" : "REDUCE";
    fprintf(file, "    {%s, %d, 0, %" PRIu64, kind, lane, op->length);
    put_place(file, &op->sources[op->sources_count - 1]);
    put_place(file, &op->destinations[0]);
}

static void put_signal(FILE *file, int rank, int lane, const tern_plan_op *op, int peer,
                       uint32_t bit)
{
    static const char *const words[2][2] = {{"TX_ACK", "TX_DATA"}, {"RX_ACK", "RX_DATA"}};
    bool waits = op->kind == TERN_PLAN_WAIT;
    if (peer == rank) {
        fprintf(file, "    {%s, %d, %u, 0", waits ? "LOCAL_WAIT" : "LOCAL_POST", lane, bit);
    } else {
        fprintf(file, "    {%s, %d, %d, 0", words[waits][bit], lane, peer);
    }
    fputs(", {USER_IN, 0, 0}, {USER_IN, 0, 0}", file);
}

static void put_task(FILE *file, const tern_plan *plan, const struct emit_bits *bits, int rank,
                     size_t number)
{
    size_t lane = bits->lane_of[number];
    int queue = (int)(lane - bits->lane_first[rank]);
    tern_plan_op op;
    if (tern_plan_get_op(plan, rank, queue, number - bits->op_first[lane], &op) != TERN_OK) {
        return; // it could be read before
    }
    if (op.kind == TERN_PLAN_COPY || op.kind == TERN_PLAN_REDUCE) {
        put_transfer(file, queue, &op);
    } else {
        put_signal(file, rank, queue, &op, bits->peers[number], bits->bits[number]);
    }
    fputs("},\n", file);
}

static void put_tasks(FILE *file, const tern_plan *plan, const struct emit_bits *bits)
{
    int n = tern_plan_get_spec(plan)->nranks;
    fputs("// Those of rank 0 first, in an order in which they can happen.\n"
          "const Task TASKS[] = {\n",
          file);
    for (int rank = 0; rank < n; rank++) {
        fprintf(file, "    // rank %d\n", rank);
        size_t end = bits->op_first[bits->lane_first[rank + 1]];
        for (size_t i = bits->op_first[bits->lane_first[rank]]; i < end; i++) {
            put_task(file, plan, bits, rank, bits->order[i]);
        }
    }
    fputs("    {COPY, 0, 0, 0, {USER_IN, 0, 0}, {USER_IN, 0, 0}}, // the end\n};\n", file);
}

// The bytes of the elements that the caller counts: of a share where in or out is one.
static uint64_t counted_bytes(const tern_plan *plan)
{
    uint64_t in = tern_plan_buffer_bytes(plan, TERN_PLAN_IN);
    uint64_t out = tern_plan_buffer_bytes(plan, TERN_PLAN_OUT);
    uint64_t least = in < out ? in : out;
    bool all_to_all = tern_plan_get_spec(plan)->kind == TERN_PLAN_ALL_TO_ALL;
    return all_to_all ? least / (uint64_t)tern_plan_get_spec(plan)->nranks : least;
}

static void put_constants(FILE *file, const tern_plan *plan, const struct emit_bits *bits)
{
    const tern_plan_spec *spec = tern_plan_get_spec(plan);
    fprintf(file,
            "constexpr u32 RANKS = %d;\nconstexpr u32 UNIT = %u;\n"
            "constexpr u64 BYTES = %" PRIu64 "; // of DataDes.count elements\n"
            "constexpr u32 NOTIFIES = %u;\n\n",
            spec->nranks, spec->unit, counted_bytes(plan), (bits->notifies + 1) / 2 * 2);
    fputs("// Of each rank: its streams, the main stream among them; its first task.\n"
          "const u32 QUEUES[] = {",
          file);
    for (int rank = 0; rank < spec->nranks; rank++) {
        int lanes = tern_plan_lane_count(plan, rank);
        fprintf(file, "%s%d", rank > 0 ? ", " : "", lanes > 0 ? lanes : 1);
    }
    fputs("};\nconst u32 FIRST[] = {", file);
    for (int rank = 0; rank <= spec->nranks; rank++) {
        fprintf(file, "%s%zu", rank > 0 ? ", " : "", bits->op_first[bits->lane_first[rank]]);
    }
    fputs("};\n\n", file);
}

// Of words of letters, digits, '_' and '-'.
static void put_name(FILE *file, const tern_plan_spec *spec)
{
    fputs("Tern", file);
    const char *words[] = {tern_plan_kind_name(spec->kind), spec->algorithm};
    for (int i = 0; i < 2; i++) {
        for (bool upper = true; *words[i] != '\0'; words[i]++) {
            bool letter = isalnum((unsigned char)*words[i]) != 0;
            if (letter) {
                fputc(upper ? toupper((unsigned char)*words[i]) : *words[i], file);
            }
            upper = !letter;
        }
    }
}

static void put_source(FILE *file, const tern_plan *plan, const struct emit_bits *bits)
{
    const tern_plan_spec *spec = tern_plan_get_spec(plan);
    fprintf(file,
            "// The plan %s '%s' of %d ranks, %" PRIu64 " bytes, %zu tasks, written by 'tern plan "
            "--emit-executor'.\n",
            tern_plan_kind_name(spec->kind), spec->algorithm, spec->nranks, spec->bytes,
            tern_plan_total_ops(plan));
    fputs(head, file);
    put_constants(file, plan, bits);
    put_tasks(file, plan, bits);
    fputs(body, file);
    fputs("REGISTER_EXEC(\"", file);
    if (strcmp(spec->algorithm, "custom") == 0) { // no name of its own
        put_name(file, spec);
    } else {
        fputs(spec->algorithm, file);
    }
    fputs("\", ", file);
    put_name(file, spec);
    fputs(", TernPlanExecutor);\n\n} // namespace hccl\n", file);
}

static bool has_inline_reduces(const tern_plan *plan)
{
    for (int rank = 0; rank < tern_plan_get_spec(plan)->nranks; rank++) {
        for (int lane = 0; lane < tern_plan_lane_count(plan, rank); lane++) {
            for (size_t i = 0; i < tern_plan_op_count(plan, rank, lane); i++) {
                tern_plan_op op;
                if (tern_plan_get_op(plan, rank, lane, i, &op) == TERN_OK && op.flags != 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

// What is right in tern and not there.
static void warn_of_early(const struct emit_bits *bits)
{
    if (bits->early > 0) {
        fprintf(
            stderr,
            "tern plan: warning: %s, so its last operation may use its CCL buffers still: a post "
            "of that rank must come first%s\n",
            bits->first_early.text, bits->early > 1 ? " (and others like it)" : "");
    }
}

// What the engines of a target cannot reduce inline.
static void warn_of(const tern_plan *plan, enum emit_target target)
{
    uint32_t unit = tern_plan_get_spec(plan)->unit;
    if (target == EMIT_ANY || !has_inline_reduces(plan)) {
        return;
    }
    fprintf(
        stderr,
        "tern plan: warning: inline reduces%s exist on %s for fp32, fp16, bf16, int8, int16 and "
        "int32 with sum, max and min: never for prod%s\n",
        target == EMIT_950 ? ", if as on 910B," : "", target_words[target],
        unit == 8 ? ", and for no element of 8 bytes, which this plan has" : "");
}

int emit_executor(const tern_plan *plan, const char *path, enum emit_target target)
{
    struct emit_refusal refusal;
    struct emit_bits bits = {0};
    int status = -1;
    if (!emit_can_express(plan, &refusal) || !emit_bits_make(plan, &bits, &refusal)) {
        fprintf(stderr, "tern plan: this plan cannot be an executor: %s\n", refusal.text);
        emit_bits_free(&bits);
        return -1;
    }
    bool to_stdout = strcmp(path, "-") == 0;
    FILE *file = to_stdout ? stdout : fopen(path, "we");
    if (file != NULL) {
        put_source(file, plan, &bits);
        status = fflush(file) == 0 && ferror(file) == 0 ? 0 : -1;
        status = to_stdout || fclose(file) == 0 ? status : -1;
    }
    if (status != 0) {
        fprintf(stderr, "tern plan: --emit-executor: cannot write '%s'\n", path);
    } else {
        warn_of(plan, target);
        warn_of_early(&bits);
    }
    emit_bits_free(&bits);
    return status;
}
