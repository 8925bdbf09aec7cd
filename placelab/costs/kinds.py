"""What sort of work is an op? Op types of TensorFlow, ONNX and PyTorch (aten, prims), as they spell them, in a few categories.

A type that several frameworks have stands once. Types of PyTorch are told by their name alone: ``aten.add.Tensor`` and the
in-place ``aten::add_`` are ``add``. What has no line here is ``unknown``, and whoever asks must say so to the user.
"""

from __future__ import annotations

from functools import lru_cache

UNKNOWN = "unknown"
FREE = frozenset({"view", "source"})  # launch nothing on a device and move nothing
CONTRACTIONS = frozenset(
    {"matmul", "convolution", "attention", "recurrent"}
)  # run on matrix units where there are such

TABLE = {
    "matmul": """
        BatchMatMul BatchMatMulV2 BatchMatMulV3 Einsum _FusedBatchMatMulV2 FusedGemm FusedMatMul _FusedMatMul Gemm
        MatMul MatMulInteger QLinearMatMul QuantizedMatMul SparseMatMul
        addbmm addmm _addmm_activation addmm_dtype addmv baddbmm bmm bmm_dtype chain_matmul dot einsum inner _int_mm
        linear linear_backward matmul matmul_backward _mkl_linear mkldnn_linear mkldnn_linear_pointwise mm mm_dtype mv
        _scaled_mm vdot
    """,
    "convolution": """
        Conv Conv2D Conv2DBackpropFilter Conv2DBackpropFilterV2 Conv2DBackpropInput Conv2DBackpropInputV2 Conv3D
        Conv3DBackpropFilter Conv3DBackpropFilterV2 Conv3DBackpropInput Conv3DBackpropInputV2 ConvInteger
        ConvTranspose DeformConv DepthwiseConv2dNative DepthwiseConv2dNativeBackpropFilter
        DepthwiseConv2dNativeBackpropInput FusedConv _FusedConv2D _FusedDepthwiseConv2dNative QLinearConv
        QuantizedConv2D
        conv1d conv2d conv3d _conv_depthwise2d conv_depthwise3d conv_transpose1d conv_transpose2d conv_transpose3d
        _convolution convolution convolution_backward convolution_backward_overrideable convolution_overrideable
        cudnn_convolution cudnn_convolution_relu cudnn_convolution_transpose miopen_convolution mkldnn_convolution
        mkldnn_convolution_pointwise _slow_conv2d_forward slow_conv3d slow_conv_transpose2d slow_conv_transpose3d
        thnn_conv2d
    """,
    "attention": """
        Attention GroupQueryAttention MultiHeadAttention
        _cudnn_attention_backward _cudnn_attention_forward _efficient_attention_backward _efficient_attention_forward
        _flash_attention_backward _flash_attention_forward scaled_dot_product_attention
        _scaled_dot_product_attention_math _scaled_dot_product_cudnn_attention
        _scaled_dot_product_cudnn_attention_backward _scaled_dot_product_efficient_attention
        _scaled_dot_product_efficient_attention_backward _scaled_dot_product_flash_attention
        _scaled_dot_product_flash_attention_backward _scaled_dot_product_flash_attention_for_cpu
        _scaled_dot_product_flash_attention_for_cpu_backward _scaled_dot_product_fused_attention_overrideable
        _scaled_dot_product_fused_attention_overrideable_backward
    """,
    "recurrent": """
        BlockLSTM BlockLSTMGrad BlockLSTMGradV2 BlockLSTMV2 CudnnRNN CudnnRNNBackprop CudnnRNNBackpropV2
        CudnnRNNBackpropV3 CudnnRNNV2 CudnnRNNV3 GRU GRUBlockCell GRUBlockCellGrad LSTM LSTMBlockCell
        LSTMBlockCellGrad RNN
        _cudnn_rnn _cudnn_rnn_backward gru gru_cell lstm lstm_cell mkldnn_rnn_layer mkldnn_rnn_layer_backward rnn_relu
        rnn_relu_cell rnn_tanh rnn_tanh_cell
    """,
    "normalisation": """
        BatchNormalization BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad
        EmbedLayerNormalization FusedBatchNorm _FusedBatchNormEx FusedBatchNormGrad _FusedBatchNormGradEx
        FusedBatchNormGradV2 FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 GroupNormalization InstanceNorm
        InstanceNormalization LayerNormalization LpNormalization LRN LRNGrad MeanVarianceNormalization
        RMSNormalization SimplifiedLayerNormalization SkipLayerNormalization SkipSimplifiedLayerNormalization
        batch_norm batch_norm_backward _batch_norm_impl_index _batch_norm_impl_index_backward _batch_norm_no_update
        _batch_norm_with_update _batch_norm_with_update_functional cudnn_batch_norm cudnn_batch_norm_backward
        _fused_rms_norm _fused_rms_norm_backward group_norm instance_norm layer_norm miopen_batch_norm
        miopen_batch_norm_backward native_batch_norm native_batch_norm_backward _native_batch_norm_legit
        _native_batch_norm_legit_functional _native_batch_norm_legit_no_training native_group_norm
        native_group_norm_backward native_layer_norm native_layer_norm_backward rms_norm
    """,
    "softmax": """
        Hardmax LogSoftmax NegativeLogLikelihoodLoss ReduceLogSumExp Softmax SoftmaxCrossEntropyLoss
        SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits
        cross_entropy_loss _log_softmax log_softmax _log_softmax_backward_data logsumexp _masked_softmax
        _masked_softmax_backward _safe_softmax _softmax softmax _softmax_backward_data
    """,
    "elementwise": """
        Abs AccumulateNV2 Acos Acosh Add AddN AddV2 AdjustContrast AdjustContrastv2 AdjustHue AdjustSaturation
        AffineGrid And Angle ApproximateEqual Asin Asinh AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp
        Atan Atan2 Atanh BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e
        BesselY0 BesselY1 Betainc BiasAdd BiasAddV1 BiasGelu BiasSplitGelu BinaryLogisticRegression Bitcast BitShift
        BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu CheckNumerics CheckNumericsV2 Clip
        ClipByNorm ClipByValue Complex ComplexAbs Conj Cos Cosh CropAndResize CropAndResizeGradImage Cross Dawsn
        Dequantize DequantizeLinear Digamma Div DivNoNan DynamicQuantizeLinear Elu EluGrad EnsureShape Equal Erf Erfc
        Erfinv Exp Expint Expm1 FakeQuantWithMinMaxArgs FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars
        FakeQuantWithMinMaxVarsGradient FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient
        FastGelu Floor FloorDiv FloorMod FresnelCos FresnelSin _FusedBiasAddGrad _FusedBinary Gelu Greater
        GreaterEqual GreaterOrEqual GridSample HardSigmoid HardSwish HSVToRGB Igamma Igammac IgammaGradA Imag
        ImageProjectiveTransformV2 ImageProjectiveTransformV3 Inv Invert InvGrad IsFinite IsInf IsNaN IsNan LeakyRelu
        LeakyReluGrad LeftShift Less LessEqual LessOrEqual Lgamma Log Log1p LogicalAnd LogicalNot LogicalOr Maximum
        Minimum Mish Mod Mul MulNoNan Ndtri Neg NextAfter Not NotEqual Or Polygamma PopulationCount Pow PRelu Quantize
        QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4 QuantizeLinear
        QuantizeV2 QuickGelu Real RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Resize ResizeArea
        ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad RGBToHSV RightShift Rint RotaryEmbedding
        Round Rsqrt RsqrtGrad ScaleAndTranslate ScaleAndTranslateGrad Select SelectV2 Selu SeluGrad Shrink Sigmoid
        SigmoidGrad Sign Sin Sinh Softplus SoftplusGrad Softsign SoftsignGrad Spence Sqrt SqrtGrad Square
        SquaredDifference Sub SwiGLU Swish Tan Tanh TanhGrad ThresholdedRelu Trilu TruncateDiv TruncateMod Upsample
        Where Xdivy Xlog1py Xlogy Xor Zeta
        abs absolute acos acosh add add_relu addcdiv addcmul affine_grid_generator alpha_dropout angle arccos arcsin
        arctan asin asinh atan atan2 atanh bessel_i0 bessel_i1 bessel_j0 bessel_j1 binary_cross_entropy
        binary_cross_entropy_backward binary_cross_entropy_with_logits bitwise_and bitwise_left_shift bitwise_not
        bitwise_or bitwise_right_shift bitwise_xor cbrt ceil celu clamp clamp_max clamp_min clip complex conj_physical
        convert_element_type copysign cos cosh deg2rad dequantize_per_channel dequantize_per_tensor digamma div divide
        dropout elu elu_backward eq erf erf_inv erfc erfinv exp exp2 expm1 fake_quantize_per_tensor_affine
        feature_dropout floor floor_divide fma fmax fmin fmod _foreach_add _foreach_addcdiv _foreach_addcmul
        _foreach_div _foreach_lerp _foreach_maximum _foreach_mul _foreach_neg _foreach_pow _foreach_sqrt _foreach_sub
        frac _fused_dropout gcd ge gelu gelu_backward glu glu_backward greater greater_equal grid_sampler_2d
        grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward gt hardshrink hardshrink_backward
        hardsigmoid hardsigmoid_backward hardswish hardswish_backward hardtanh hardtanh_backward heaviside huber_loss
        huber_loss_backward hypot i0 igamma igammac isfinite isinf isnan isneginf isposinf kl_div l1_loss lcm ldexp le
        leaky_relu leaky_relu_backward lerp less less_equal lgamma log log10 log1p log2 log_sigmoid
        log_sigmoid_backward log_sigmoid_forward logaddexp logaddexp2 logical_and logical_not logical_or logical_xor
        logit logit_backward lt masked_fill maximum minimum mish mish_backward mse_loss mse_loss_backward mul multiply
        mvlgamma nan_to_num native_dropout native_dropout_backward ne neg negative nextafter not_equal polar polygamma
        pow prelu _prelu_kernel _prelu_kernel_backward quantize_per_channel quantize_per_tensor rad2deg reciprocal
        relu relu6 remainder round rrelu rrelu_with_noise rsqrt rsub selu sgn sigmoid sigmoid_backward sign signbit
        silu silu_backward sin sinc sinh smooth_l1_loss smooth_l1_loss_backward soft_margin_loss softplus
        softplus_backward softshrink softshrink_backward special_entr special_erfcx special_i0e special_i1 special_i1e
        special_log_ndtr special_ndtr special_ndtri special_xlog1py special_zeta sqrt square sub subtract tan tanh
        tanh_backward _thnn_fused_gru_cell _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell
        _thnn_fused_lstm_cell_backward threshold threshold_backward to _to_copy tril triu true_divide trunc
        upsample_bicubic2d upsample_bicubic2d_backward upsample_bilinear2d _upsample_bilinear2d_aa
        upsample_bilinear2d_backward upsample_linear1d upsample_linear1d_backward upsample_trilinear3d
        upsample_trilinear3d_backward where xlogy
    """,
    "reduction": """
        All Any ArgMax ArgMin BiasAddGrad Bincount CTCLoss CTCLossV2 CumProd Cumprod CumSum Cumsum CumulativeLogsumexp
        DenseBincount EuclideanNorm GlobalAveragePool GlobalLpPool GlobalMaxPool HistogramFixedWidth InTopK InTopKV2
        L2Loss Max Mean Min Prod ReduceL1 ReduceL2 ReduceLogSum ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum
        ReduceSumSquare SegmentMax SegmentMean SegmentMin SegmentProd SegmentSum SparseSegmentMean SparseSegmentSqrtN
        SparseSegmentSum Sum UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
        adaptive_avg_pool1d _adaptive_avg_pool2d adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool3d
        adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d all amax amin aminmax any argmax argmin bincount
        count_nonzero cummax cummin cumprod cumsum dist _foreach_norm histc linalg_norm linalg_vector_norm
        _logcumsumexp logcumsumexp max mean median min mode nanmean nansum nll_loss nll_loss2d nll_loss2d_forward
        nll_loss_forward norm prod std std_mean sum trace var var_mean _weight_norm _weight_norm_interface xor_sum
    """,
    "pooling": """
        AveragePool AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad FractionalAvgPool FractionalMaxPool LpPool MaxPool
        MaxPool3D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradV2 MaxPoolGradWithArgmax
        MaxPoolV2 MaxPoolWithArgmax MaxRoiPool MaxUnpool QLinearAveragePool QuantizedAvgPool QuantizedMaxPool RoiAlign
        _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_max_pool2d_backward avg_pool1d avg_pool2d
        avg_pool2d_backward avg_pool3d avg_pool3d_backward _low_memory_max_pool_with_offsets max_pool1d
        max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d
        max_pool3d_with_indices max_pool3d_with_indices_backward mkldnn_max_pool2d
    """,
    "sort": """
        CombinedNonMaxSuppression NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV3 NonMaxSuppressionV4
        NonMaxSuppressionV5 NthElement TopK TopKV2 Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2
        argsort bucketize kthvalue msort searchsorted sort topk unique _unique2 unique_consecutive unique_dim
    """,
    "gather": """
        ArrayFeatureExtractor BatchGather Compress EmbeddingLookup Gather GatherElements GatherND GatherNd GatherV2
        NonZero OneHot ResizeNearestNeighbor ResizeNearestNeighborGrad ResourceGather ResourceGatherNd SequenceAt
        Slice StackPopV2 StridedSlice TensorArrayReadV3 TensorListGetItem TensorListPopBack
        embedding _embedding_bag embedding_bag gather index index_select masked_select nonzero one_hot slice_copy take
        take_along_dim _unsafe_index _unsafe_masked_index upsample_nearest1d upsample_nearest2d
        upsample_nearest2d_backward upsample_nearest3d
    """,
    "scatter": """
        ResourceScatterAdd ResourceScatterDiv ResourceScatterMax ResourceScatterMin ResourceScatterMul
        ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate
        Scatter ScatterAdd ScatterDiv ScatterElements ScatterMax ScatterMin ScatterMul ScatterND ScatterNd
        ScatterNdAdd ScatterNdNonAliasingAdd ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate
        SparseTensorDenseAdd SparseToDense TensorScatter TensorScatterAdd TensorScatterMax TensorScatterMin
        TensorScatterSub TensorScatterUpdate
        as_strided_scatter diagonal_backward diagonal_scatter embedding_backward embedding_dense_backward
        gather_backward index_add index_copy index_fill index_put _index_put_impl index_select_backward masked_scatter
        nll_loss2d_backward nll_loss_backward scatter scatter_add scatter_reduce select_backward select_scatter
        slice_backward slice_scatter _unsafe_index_put _unsafe_masked_index_put_accumulate
    """,
    "optimiser": """
        Adagrad Adam ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdam ApplyAdaMax ApplyAddSign
        ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyPowerSign
        ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp Momentum ResourceApplyAdadelta
        ResourceApplyAdagrad ResourceApplyAdagradDA ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdaMax
        ResourceApplyAdamWithAmsgrad ResourceApplyAddSign ResourceApplyCenteredRMSProp ResourceApplyFtrl
        ResourceApplyFtrlV2 ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum
        ResourceApplyPowerSign ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent ResourceApplyRMSProp
        ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2 ResourceSparseApplyFtrl
        ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum ResourceSparseApplyRMSProp SparseApplyAdagrad
        SparseApplyFtrl SparseApplyMomentum SparseApplyRMSProp
        _fused_adagrad _fused_adam _fused_adamw _fused_sgd
    """,
    "fill": """
        BlackmanWindow ConstantOfShape Eye EyeLike Fill HammingWindow HannWindow LinSpace OnesLike Range ZerosLike
        arange eye fill _foreach_zero full full_like iota linspace logspace new_full new_ones new_zeros ones ones_like
        scalar_tensor tril_indices triu_indices zero zeros zeros_like
    """,
    "random": """
        Bernoulli Multinomial ParameterizedTruncatedNormal RandomGamma RandomNormal RandomNormalLike RandomPoissonV2
        RandomShuffle RandomStandardNormal RandomUniform RandomUniformInt RandomUniformLike StatefulStandardNormal
        StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatelessMultinomial StatelessRandomNormal
        StatelessRandomNormalV2 StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2
        StatelessRandomUniformInt StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessTruncatedNormal
        StatelessTruncatedNormalV2 TruncatedNormal
        bernoulli cauchy exponential geometric inductor_random log_normal multinomial normal normal_functional
        philox_rand poisson rand rand_like randint randint_like randn randn_like random randperm uniform
    """,
    "movement": """
        Assign AssignVariableOp BatchToSpace BatchToSpaceND Broadcast BroadcastTo CenterCropPad Col2Im Concat
        ConcatFromSequence ConcatV2 ConjugateTranspose Copy CopyHost DataFormatDimMap DataFormatVecPermute DeepCopy
        DepthToSpace Diag DiagPart DynamicPartition DynamicStitch Expand ExtractImagePatches ListDiff MatrixBandPart
        MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3 MatrixSetDiag
        MatrixSetDiagV3 Memcpy MirrorPad MirrorPadGrad Pack Pad PadV2 ParallelConcat ParallelDynamicStitch
        QueueDequeueManyV2 QueueDequeueV2 QueueEnqueueManyV2 QueueEnqueueV2 ResourceStridedSliceAssign Reverse
        ReverseSequence ReverseV2 Roll SequenceConstruct SequenceErase SequenceInsert SpaceToBatch SpaceToBatchND
        SpaceToDepth SparseReshape Split SplitToSequence SplitV Stack StackPushV2 Stage StridedSliceAssign
        StridedSliceGrad TensorArrayConcatV3 TensorArrayGatherV3 TensorArrayScatterV3 TensorArraySplitV3
        TensorArrayWriteV3 TensorListConcat TensorListConcatV2 TensorListFromTensor TensorListGather
        TensorListPushBack TensorListSetItem TensorListSplit TensorListStack TensorStridedSliceUpdate Tile Transpose
        Unpack Unstage
        as_strided_copy block_diag cat channel_shuffle clone col2im combinations concat concatenate constant_pad_nd
        contiguous copy copy_to device_put diag diag_embed expand_copy flip fliplr flipud _foreach_copy hstack im2col
        meshgrid native_channel_shuffle pad permute_copy pixel_shuffle pixel_unshuffle reflection_pad1d
        reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward reflection_pad3d repeat repeat_interleave
        replication_pad1d replication_pad2d replication_pad2d_backward replication_pad3d resize_as roll rot90
        split_copy split_with_sizes_copy stack tile transpose_copy unfold_backward unfold_copy view_copy vstack
    """,
    "view": """
        Assert BroadcastArgs BroadcastGradientArgs Case CheckpointEntry ConcatOffset ControlTrigger
        DebugGradientIdentity DebugIdentity DeleteSeedGenerator DestroyTemporaryVariable Dropout DummySeedGenerator
        Empty EmptyTensorList Enter EnterExit Exit ExpandDims FIFOQueueV2 Flatten For HistogramSummary _HostRecv
        _HostSend Identity IdentityN If ImageSummary InvertPermutation IsVariableInitialized Loop LoopCond Merge
        MergeSummary MutexLock MutexV2 NextIteration NoOp Optional OptionalGetElement OptionalHasElement
        PartitionedCall PlaceholderWithDefault PreventGradient Print PrintV2 QueueCloseV2 QueueSizeV2
        RandomShuffleQueueV2 Rank ReadVariableOp Recv _Recv RefEnter RefExit RefIdentity RefMerge RefNextIteration
        RefSelect RefSwitch Reshape ScalarSummary Scan Send _Send SequenceEmpty SequenceLength SequenceMap Shape
        ShapeN Size Snapshot Squeeze StackCloseV2 StackV2 StatefulPartitionedCall StatelessCase StatelessIf
        StatelessWhile StopGradient StringFormat Switch _SwitchN SymbolicGradient TensorArrayCloseV3 TensorArrayGradV3
        TensorArraySizeV3 TensorArrayV3 TensorListElementShape TensorListLength TensorListReserve TensorSummary
        TensorSummaryV2 Unsqueeze VariableShape VarIsInitializedOp While
        alias as_strided _assert_async _assert_scalar _assert_tensor_metadata broadcast_in_dim broadcast_to
        call_function chunk collapse_view _conj detach detach_copy diagonal dim empty empty_like empty_strided expand
        expand_as flatten getitem hsplit imag is_same_size item lift lift_fresh lift_fresh_copy _local_scalar_dense
        moveaxis movedim mT narrow _neg_view new_empty new_empty_strided numel numpy_T output permute ravel real
        reshape _reshape_alias reshape_as resize resolve_conj resolve_neg select set_ size slice split split_dim
        split_with_sizes squeeze stride swapaxes swapdims sym_constrain_range sym_constrain_range_for_size sym_numel
        sym_size sym_storage_offset sym_stride T t tensor_split transpose unbind unflatten unfold unsafe_split
        _unsafe_view unsqueeze view view_as view_as_complex view_as_real view_dtype view_of vsplit wait_tensor
    """,
    "source": """
        AnonymousIterator _Arg AutoReloadVariable Const Constant HashTableV2 HostConst ImmutableConst Iterator
        IteratorFromStringHandle IteratorGetNext IteratorV2 OneShotIterator Placeholder PlaceholderV2 ReaderReadV2
        Restore RestoreSlice RestoreV2 _Retval Save SaveSlices SaveV2 ShardedFilename TemporaryVariable VarHandleOp
        Variable VariableV2
        constant get_attr input parameter placeholder _tensor_constant
    """,
}
CATEGORIES = tuple(TABLE)
_CATEGORY = {kind: category for category, kinds in TABLE.items() for kind in kinds.split()}


def name_of(kind: str) -> str:
    """The bare name of an op type: without PyTorch's name space, overload and in-place mark, or ONNX's domain.

    >>> name_of("aten.add_.Tensor"), name_of("aten::convolution"), name_of("com.microsoft.Gelu"), name_of("Conv2D")
    ('add', 'convolution', 'Gelu', 'Conv2D')
    """
    name = kind.rpartition("::")[2].removeprefix("torch.ops.")
    space, dot, rest = name.partition(".")
    if dot:
        name = (
            rest.partition(".")[0]
            if space in ("aten", "prims", "_c10d_functional", "c10d")
            else name.rpartition(".")[2]
        )
    return name[:-1] if name.endswith("_") and name[:1].islower() | name.startswith("_") else name


@lru_cache(4096)
def category(kind: str) -> str:
    """Category of an op type, one of ``CATEGORIES``; ``"unknown"`` where the tables lack it.

    >>> category("aten.addmm.default"), category("Conv2DBackpropFilter"), category("Mystery")
    ('matmul', 'convolution', 'unknown')
    """
    return _CATEGORY.get(kind) or _CATEGORY.get(name_of(kind), UNKNOWN)
