"""Categories of op types of TensorFlow, ONNX, PyTorch (aten, prims) and XLA, in the frameworks' spelling.

A type that several frameworks have is listed once. Types of PyTorch are listed by their bare name: ``aten.add.Tensor`` and the
in-place ``aten::add_`` are ``add``. XLA's have a table of their own: its ``select`` chooses between elements. All other types
are ``unknown``, which callers report to the user.
"""

from __future__ import annotations

from functools import lru_cache

UNKNOWN = "unknown"
FREE = frozenset({"view", "source"})  # neither start work on a device nor move data
PRODUCTS = frozenset({"matmul", "convolution", "attention", "recurrent"})  # run on matrix units if the device has them

# A gather reads only the rows that it returns, a fill only writes, a call contains ops of its own.
TABLE = {
    "matmul": """
        BatchMatMul BatchMatMulV2 BatchMatMulV3 CDist DynamicQuantizeMatMul Einsum _FusedBatchMatMulV2 FusedGemm
        FusedMatMul _FusedMatMul FusedMatMulActivation Gemm GemmFastGelu GemmFloat8 Inverse MatMul MatMulBnb4 MatMulFpQ4
        MatMulInteger MatMulInteger16 MatMulIntegerToFloat MatMulNBits MoE QGemm QLinearMatMul QMoE QOrderedMatMul
        QuantizedMatMul _QuantizedMatMul QuantizedMatMulWithBias SparseMatMul SparseToDenseMatMul TransposeMatMul
        addbmm addmm _addmm_activation addmm_dtype addmv baddbmm bmm bmm_dtype chain_matmul dot _dyn_quant_matmul_4bit
        einsum ger inner _int_mm linalg_matmul linalg_vecdot linear linear_backward matmul matmul_backward
        _mixed_dtypes_linear _mkl_linear mkldnn_linear mkldnn_linear_backward mkldnn_linear_pointwise mm mm_dtype mv
        outer _scaled_mm vdot _weight_int4pack_mm _weight_int4pack_mm_for_cpu _weight_int8pack_mm
    """,
    "convolution": """
        CausalConvWithState Conv Conv2D Conv2DBackpropFilter Conv2DBackpropFilterV2 Conv2DBackpropInput
        Conv2DBackpropInputV2 Conv3D Conv3DBackpropFilter Conv3DBackpropFilterV2 Conv3DBackpropInput
        Conv3DBackpropInputV2 ConvInteger ConvTranspose ConvTransposeWithDynamicPads DeformConv DepthwiseConv2dNative
        DepthwiseConv2dNativeBackpropFilter DepthwiseConv2dNativeBackpropInput FusedConv _FusedConv2D _FusedConv3D
        _FusedDepthwiseConv2dNative NhwcConv NhwcFusedConv QLinearConv QuantizedConv2D QuantizedDepthwiseConv2D
        conv1d conv2d conv3d _conv_depthwise2d conv_depthwise3d conv_transpose1d conv_transpose2d conv_transpose3d
        _convolution convolution convolution_backward convolution_backward_overrideable convolution_overrideable
        cudnn_convolution cudnn_convolution_add_relu cudnn_convolution_relu cudnn_convolution_transpose
        miopen_convolution miopen_convolution_add_relu miopen_convolution_relu miopen_convolution_transpose
        miopen_depthwise_convolution mkldnn_convolution mkldnn_convolution_pointwise _mps_convolution mps_convolution
        _nnpack_spatial_convolution _slow_conv2d_forward slow_conv3d slow_conv3d_forward slow_conv_dilated2d
        slow_conv_dilated3d slow_conv_transpose2d slow_conv_transpose3d thnn_conv2d
    """,
    "attention": """
        Attention DecoderMaskedMultiHeadAttention DecoderMaskedSelfAttention GroupQueryAttention LongformerAttention
        MultiHeadAttention PackedAttention PackedMultiHeadAttention QAttention QOrderedAttention
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
        BatchNormalization BatchNormWithGlobalNormalization BatchNormWithGlobalNormalizationGrad EmbedLayerNormalization
        FusedBatchNorm _FusedBatchNormEx FusedBatchNormGrad _FusedBatchNormGradEx FusedBatchNormGradV2
        FusedBatchNormGradV3 FusedBatchNormV2 FusedBatchNormV3 GroupNorm GroupNormalization InstanceNormalization
        LayerNormalization LpNormalization LRN LRNGrad MeanVarianceNormalization QOrderedLayerNormalization
        QuantizedBatchNormWithGlobalNormalization QuantizedInstanceNorm RMSNormalization SimplifiedLayerNormalization
        SkipGroupNorm SkipLayerNormalization SkipSimplifiedLayerNormalization
        batch_norm batch_norm_backward batch_norm_backward_elemt batch_norm_elemt _batch_norm_impl_index
        _batch_norm_impl_index_backward _batch_norm_no_update _batch_norm_with_update
        _batch_norm_with_update_functional cudnn_batch_norm cudnn_batch_norm_backward _fused_rms_norm
        _fused_rms_norm_backward group_norm instance_norm layer_norm miopen_batch_norm miopen_batch_norm_backward
        native_batch_norm native_batch_norm_backward _native_batch_norm_legit _native_batch_norm_legit_functional
        _native_batch_norm_legit_no_training native_group_norm native_group_norm_backward native_layer_norm
        native_layer_norm_backward quantized_batch_norm rms_norm
    """,
    "softmax": """
        BiasSoftmax Hardmax LogSoftmax NegativeLogLikelihoodLoss QLinearSoftmax ReduceLogSumExp Softmax
        SoftmaxCrossEntropyLoss SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits
        cross_entropy_loss _log_softmax log_softmax _log_softmax_backward_data logsumexp _masked_softmax
        _masked_softmax_backward _safe_softmax _softmax softmax _softmax_backward_data special_log_softmax
        special_logsumexp special_softmax
    """,
    "elementwise": """
        Abs AccumulateNV2 Acos Acosh Add AddN AddV2 AdjustContrast AdjustContrastv2 AdjustHue AdjustSaturation
        AffineGrid And Angle ApproximateEqual Asin Asinh AssignAdd AssignAddVariableOp AssignSub AssignSubVariableOp
        Atan Atan2 Atanh BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e
        BesselY0 BesselY1 Betainc BiasAdd BiasAddV1 BiasDropout BiasGelu BiasSplitGelu BitmaskBiasDropout BitmaskDropout
        BitShift BitwiseAnd BitwiseNot BitwiseOr BitwiseXor Bucketize Cast CastLike Ceil Celu CheckNumerics
        CheckNumericsV2 Clip ClipByValue Complex ComplexAbs ComplexMul ComplexMulConj Conj Cos Cosh CropAndResize
        CropAndResizeGradImage Cross Dawsn Dequantize DequantizeLinear DequantizeWithOrder Digamma Div DivNoNan
        DynamicQuantizeLinear Elu EluGrad Equal Erf Erfc Erfinv Exp Expint Expm1 FakeQuantWithMinMaxArgs
        FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVars FakeQuantWithMinMaxVarsGradient
        FakeQuantWithMinMaxVarsPerChannel FakeQuantWithMinMaxVarsPerChannelGradient FastGelu Floor FloorDiv FloorMod
        FresnelCos FresnelSin _FusedBiasAddGrad GatedRelativePositionBias Gelu GemmaRotaryEmbedding Greater GreaterEqual
        GreaterOrEqual GridSample HardSigmoid HardSwish _HostCast HSVToRGB Igamma Igammac IgammaGradA Imag
        ImageProjectiveTransformV2 ImageProjectiveTransformV3 InplaceAdd InplaceSub Inv Invert InvGrad IsFinite IsInf
        IsNaN IsNan LeakyRelu LeakyReluGrad LeftShift Less LessEqual LessOrEqual Lgamma Log Log1p LogicalAnd LogicalNot
        LogicalOr Maximum Minimum Mish Mod Mul MulInteger MulNoNan MurmurHash3 Ndtri Neg NextAfter Not NotEqual Or
        Polygamma PopulationCount Pow PRelu QLinearAdd QLinearLeakyRelu QLinearMul QLinearSigmoid QLinearWhere
        QOrderedGelu Quantize QuantizeAndDequantize QuantizeAndDequantizeV2 QuantizeAndDequantizeV3
        QuantizeAndDequantizeV4 QuantizeAndDequantizeV4Grad QuantizedAdd QuantizedBiasAdd QuantizedMul QuantizedRelu
        QuantizedRelu6 QuantizedReluX QuantizedResizeBilinear QuantizeLinear QuantizeV2 QuantizeWithOrder QuickGelu
        RandomGammaGrad Real RealDiv Reciprocal ReciprocalGrad Relu Relu6 Relu6Grad ReluGrad Requantize Resize
        ResizeArea ResizeBicubic ResizeBicubicGrad ResizeBilinear ResizeBilinearGrad RGBToHSV RightShift Rint
        RotaryEmbedding Round Rsqrt RsqrtGrad ScaleAndTranslate ScaleAndTranslateGrad Select SelectV2 Selu SeluGrad
        Shrink Sigmoid SigmoidGrad Sign Sin Sinh Softplus SoftplusGrad Softsign SoftsignGrad Spence Sqrt SqrtGrad Square
        SquaredDifference StochasticCastToInt Sub SwiGLU Swish Tan Tanh TanhGrad ThresholdedRelu ToBool Trilu
        TruncateDiv TruncateMod _UnaryOpsComposition UniformDequantize UniformQuantize UniformQuantizedAdd
        UniformQuantizedClipByValue UniformRequantize Upsample Where Xdivy Xlog1py Xlogy Xor Zeta
        abs absolute acos acosh add _add_relu add_relu addcdiv addcmul addr affine_grid_generator alpha_dropout
        _amp_foreach_non_finite_check_and_unscale __and__ angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh
        asin asinh atan atan2 atanh bessel_i0 bessel_i1 bessel_j0 bessel_j1 binary_cross_entropy
        binary_cross_entropy_backward binary_cross_entropy_with_logits bitwise_and bitwise_left_shift bitwise_not
        bitwise_or bitwise_right_shift bitwise_xor _cast_Byte _cast_Char _cast_Double _cast_Float _cast_Half _cast_Int
        _cast_Long _cast_Short cbrt ceil celu clamp clamp_max clamp_min clip complex _conj_physical conj_physical
        convert_element_type copysign cos cosh cosine_embedding_loss cross cudnn_grid_sampler deg2rad dequantize
        dequantize_per_channel dequantize_per_tensor diff digamma div divide dropout elu elu_backward eq erf erfc
        erfinv exp exp2 expm1 fabs _fake_quantize_learnable_per_tensor_affine fake_quantize_per_channel_affine
        fake_quantize_per_channel_affine_cachemask fake_quantize_per_channel_affine_cachemask_backward
        fake_quantize_per_tensor_affine fake_quantize_per_tensor_affine_cachemask
        fake_quantize_per_tensor_affine_cachemask_backward feature_dropout fix float_power floor floor_divide fma fmax
        fmin fmod frac frexp _fused_dropout _fused_moving_avg_obs_fq_helper gcd ge gelu gelu_backward glu glu_backward
        glu_jvp greater greater_equal grid_sampler grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d
        grid_sampler_3d_backward gt hardshrink hardshrink_backward hardsigmoid hardsigmoid_backward hardswish
        hardswish_backward hardtanh hardtanh_backward heaviside hinge_embedding_loss huber_loss huber_loss_backward
        hypot i0 __iand__ igamma igammac __ilshift__ __ior__ __irshift__ isclose isfinite isinf isnan isneginf
        isposinf isreal __ixor__ kl_div l1_loss lcm ldexp le leaky_relu leaky_relu_backward lerp less less_equal
        lgamma linalg_cross log log10 log1p log2 log_sigmoid log_sigmoid_backward log_sigmoid_forward logaddexp
        logaddexp2 logical_and logical_not logical_or logical_xor logit logit_backward __lshift__ lt
        margin_ranking_loss masked_fill _masked_scale maximum minimum mish mish_backward modf mse_loss
        mse_loss_backward mul multi_margin_loss multi_margin_loss_backward multilabel_margin_loss
        multilabel_margin_loss_backward multilabel_margin_loss_forward multiply mvlgamma nan_to_num native_dropout
        native_dropout_backward ne neg negative nextafter not_equal __or__ pairwise_distance poisson_nll_loss polar
        polygamma positive pow prelu _prelu_kernel _prelu_kernel_backward quantize_per_channel quantize_per_tensor
        quantize_per_tensor_dynamic rad2deg reciprocal relu relu6 remainder round rrelu rrelu_with_noise
        rrelu_with_noise_backward rrelu_with_noise_functional __rshift__ rsqrt rsub selu sgn sigmoid sigmoid_backward
        sign signbit silu silu_backward sin sinc sinh smooth_l1_loss smooth_l1_loss_backward soft_margin_loss
        soft_margin_loss_backward softplus softplus_backward softshrink softshrink_backward special_airy_ai
        special_bessel_j0 special_bessel_j1 special_bessel_y0 special_bessel_y1 special_digamma special_entr
        special_erf special_erfc special_erfcx special_erfinv special_exp2 special_expit special_expm1
        special_gammainc special_gammaincc special_gammaln special_i0 special_i0e special_i1 special_i1e special_log1p
        special_log_ndtr special_logit special_multigammaln special_ndtr special_ndtri special_polygamma special_psi
        special_round special_sinc special_xlog1py special_xlogy special_zeta sqrt square sub subtract tan tanh
        tanh_backward _thnn_fused_gru_cell _thnn_fused_gru_cell_backward _thnn_fused_lstm_cell
        _thnn_fused_lstm_cell_backward threshold threshold_backward to _to_copy tril triplet_margin_loss triu
        true_divide trunc type_as upsample_bicubic2d _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward
        upsample_bicubic2d_backward upsample_bilinear2d _upsample_bilinear2d_aa _upsample_bilinear2d_aa_backward
        upsample_bilinear2d_backward upsample_linear1d upsample_linear1d_backward upsample_trilinear3d
        upsample_trilinear3d_backward where xlogy __xor__
    """,
    "reduction": """
        All Any ArgMax ArgMin BiasAddGrad Bincount CTCLoss CTCLossV2 CumProd Cumprod CumSum Cumsum CumulativeLogsumexp
        DebugNanCount DebugNumericSummary DebugNumericSummaryV2 DenseBincount EuclideanNorm GlobalAveragePool
        GlobalLpPool GlobalMaxPool HistogramFixedWidth InTopK InTopKV2 L2Loss Max Mean Min Prod QLinearGlobalAveragePool
        QLinearReduceMean RaggedBincount ReduceL1 ReduceL2 ReduceLogSum ReduceMax ReduceMean ReduceMin ReduceProd
        ReduceSum ReduceSumInteger ReduceSumSquare SegmentMax SegmentMaxV2 SegmentMean SegmentMin SegmentMinV2
        SegmentProd SegmentProdV2 SegmentSum SegmentSumV2 SparseSegmentMean SparseSegmentMeanWithNumSegments
        SparseSegmentSqrtN SparseSegmentSqrtNWithNumSegments SparseSegmentSum SparseSegmentSumWithNumSegments Sum
        TileGrad UnsortedSegmentMax UnsortedSegmentMin UnsortedSegmentProd UnsortedSegmentSum
        adaptive_avg_pool1d _adaptive_avg_pool2d adaptive_avg_pool2d _adaptive_avg_pool3d adaptive_avg_pool3d
        adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d all allclose amax amin _aminmax aminmax any argmax
        argmin bincount cosine_similarity count_nonzero _ctc_loss ctc_loss _ctc_loss_backward cummax _cummax_helper
        cummaxmin_backward cummin _cummin_helper cumprod cumprod_backward cumsum dist equal frobenius_norm
        _grad_sum_to_size hash_tensor histc histogram histogramdd _is_all_true _is_any_true is_nonzero
        linalg_matrix_norm linalg_norm linalg_vector_norm _logcumsumexp logcumsumexp max mean median min
        mkldnn_adaptive_avg_pool2d mode nanmean nanmedian nansum native_norm norm norm_except_dim nuclear_norm prod
        segment_reduce std std_mean sum sum_to_size trace trapezoid trapz var var_mean _weight_norm
        _weight_norm_interface _weight_norm_interface_backward xor_sum
    """,
    "pooling": """
        AveragePool AvgPool AvgPool3D AvgPool3DGrad AvgPoolGrad Dilation2D Dilation2DBackpropFilter
        Dilation2DBackpropInput FractionalAvgPool FractionalAvgPoolGrad FractionalMaxPool FractionalMaxPoolGrad LpPool
        MaxPool MaxPool3D MaxPool3DGrad MaxPool3DGradGrad MaxPoolGrad MaxPoolGradGrad MaxPoolGradGradV2
        MaxPoolGradGradWithArgmax MaxPoolGradV2 MaxPoolGradWithArgmax MaxPoolV2 MaxPoolWithArgmax MaxpoolWithMask
        MaxRoiPool MaxUnpool NhwcMaxPool QLinearAveragePool QuantizedAvgPool QuantizedMaxPool RoiAlign
        _adaptive_avg_pool2d_backward _adaptive_avg_pool3d_backward adaptive_avg_pool3d_backward
        adaptive_max_pool2d_backward adaptive_max_pool3d_backward avg_pool1d avg_pool2d avg_pool2d_backward avg_pool3d
        avg_pool3d_backward fractional_max_pool2d fractional_max_pool2d_backward fractional_max_pool3d
        fractional_max_pool3d_backward _low_memory_max_pool_offsets_to_indices _low_memory_max_pool_with_offsets
        max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_backward max_pool2d_with_indices
        max_pool2d_with_indices_backward max_pool3d max_pool3d_with_indices max_pool3d_with_indices_backward
        max_unpool2d max_unpool3d mkldnn_adaptive_avg_pool2d_backward mkldnn_max_pool2d mkldnn_max_pool2d_backward
        mkldnn_max_pool3d mkldnn_max_pool3d_backward quantized_max_pool1d quantized_max_pool2d
    """,
    "transform": """
        BatchFFT BatchFFT2D BatchFFT3D BatchIFFT BatchIFFT2D BatchIFFT3D DFT FFT FFT2D FFT3D FFTND IFFT IFFT2D IFFT3D
        IFFTND IRFFT Irfft IRFFT2D IRFFT3D IRFFTND RFFT Rfft RFFT2D RFFT3D RFFTND STFT
        _fft_c2c fft_c2c _fft_c2r fft_c2r fft_fft fft_fft2 fft_fftn fft_hfft fft_ifft fft_ifft2 fft_ifftn fft_ihfft
        fft_irfft fft_irfft2 fft_irfftn _fft_r2c fft_r2c fft_rfft fft_rfft2 fft_rfftn
    """,
    "sort": """
        ApproxTopK CombinedNonMaxSuppression KthOrderStatistic LowerBound NonMaxSuppression NonMaxSuppressionV2
        NonMaxSuppressionV3 NonMaxSuppressionV4 NonMaxSuppressionV5 NthElement TopK TopKUnique TopKV2 TopKWithUnique
        Unique UniqueV2 UniqueWithCounts UniqueWithCountsV2 UpperBound
        argsort bucketize kthvalue msort nanquantile quantile searchsorted sort topk _unique unique _unique2
        unique_consecutive unique_dim unique_dim_consecutive
    """,
    "gather": """
        ArrayFeatureExtractor BatchGather BatchMatrixDiagPart Compress EmbeddingLookup Gather GatherBlockQuantized
        GatherElements GatherND GatherNd GatherV2 LookupTableFind LookupTableFindV2 NonZero OneHot RaggedGather
        RelativePositionBias ResizeNearestNeighbor ResizeNearestNeighborGrad ResourceGather ResourceGatherNd SequenceAt
        Slice StackPop StackPopV2 StridedSlice TensorArrayRead TensorArrayReadV2 TensorArrayReadV3 TensorListGetItem
        TensorListPopBack
        argwhere diagonal_copy embedding _embedding_bag embedding_bag _embedding_bag_forward_only gather index
        index_select index_select_copy masked_select masked_select_backward narrow_copy nll_loss nll_loss2d
        nll_loss2d_forward nll_loss_forward nll_loss_nd nonzero nonzero_numpy nonzero_static one_hot select_copy
        slice_copy take take_along_dim _unsafe_index _unsafe_masked_index upsample_nearest1d
        upsample_nearest1d_backward upsample_nearest2d upsample_nearest2d_backward upsample_nearest3d
        upsample_nearest3d_backward _upsample_nearest_exact1d _upsample_nearest_exact1d_backward
        _upsample_nearest_exact2d _upsample_nearest_exact2d_backward _upsample_nearest_exact3d
        _upsample_nearest_exact3d_backward
    """,
    "scatter": """
        InplaceUpdate LookupTableImportV2 LookupTableInsertV2 ResourceScatterAdd ResourceScatterDiv ResourceScatterMax
        ResourceScatterMin ResourceScatterMul ResourceScatterNdAdd ResourceScatterNdMax ResourceScatterNdMin
        ResourceScatterNdSub ResourceScatterNdUpdate ResourceScatterSub ResourceScatterUpdate Scatter ScatterAdd
        ScatterDiv ScatterElements ScatterMax ScatterMin ScatterMul ScatterND ScatterNd ScatterNdAdd ScatterNdMax
        ScatterNdMin ScatterNdNonAliasingAdd ScatterNdSub ScatterNdUpdate ScatterSub ScatterUpdate
        SparseSegmentMeanGrad SparseSegmentMeanGradV2 SparseSegmentSqrtNGrad SparseSegmentSqrtNGradV2
        SparseSegmentSumGrad SparseSegmentSumGradV2 SparseTensorDenseAdd SparseToDense TensorListScatter
        TensorListScatterIntoExistingList TensorListScatterV2 TensorScatter TensorScatterAdd TensorScatterMax
        TensorScatterMin TensorScatterSub TensorScatterUpdate
        as_strided_scatter diagonal_backward diagonal_scatter embedding_backward _embedding_bag_backward
        _embedding_bag_dense_backward embedding_dense_backward embedding_sparse_backward gather_backward index_add
        index_copy index_fill index_put _index_put_impl index_reduce index_select_backward masked_scatter
        masked_scatter_backward nll_loss2d_backward nll_loss_backward put scatter scatter_add scatter_reduce
        select_backward select_scatter slice_backward slice_scatter trace_backward _unsafe_index_put
        _unsafe_masked_index_put_accumulate value_selecting_reduction_backward
    """,
    "optimiser": """
        Adagrad Adam ApplyAdadelta ApplyAdagrad ApplyAdagradDA ApplyAdagradV2 ApplyAdam ApplyAdaMax ApplyAddSign
        ApplyCenteredRMSProp ApplyFtrl ApplyFtrlV2 ApplyGradientDescent ApplyMomentum ApplyPowerSign
        ApplyProximalAdagrad ApplyProximalGradientDescent ApplyRMSProp Momentum ResourceApplyAdadelta
        ResourceApplyAdagrad ResourceApplyAdagradDA ResourceApplyAdagradV2 ResourceApplyAdam ResourceApplyAdaMax
        ResourceApplyAdamWithAmsgrad ResourceApplyAddSign ResourceApplyCenteredRMSProp ResourceApplyFtrl
        ResourceApplyFtrlV2 ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyMomentum
        ResourceApplyPowerSign ResourceApplyProximalAdagrad ResourceApplyProximalGradientDescent ResourceApplyRMSProp
        ResourceSparseApplyAdadelta ResourceSparseApplyAdagrad ResourceSparseApplyAdagradDA
        ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp ResourceSparseApplyFtrl
        ResourceSparseApplyFtrlV2 ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum
        ResourceSparseApplyProximalAdagrad ResourceSparseApplyProximalGradientDescent ResourceSparseApplyRMSProp
        SparseApplyAdadelta SparseApplyAdagrad SparseApplyAdagradDA SparseApplyAdagradV2 SparseApplyCenteredRMSProp
        SparseApplyFtrl SparseApplyFtrlV2 SparseApplyMomentum SparseApplyProximalAdagrad
        SparseApplyProximalGradientDescent SparseApplyRMSProp
        _fused_adagrad _fused_adam _fused_adamw _fused_sgd
    """,
    "fill": """
        BlackmanWindow ConstantOfShape Eye EyeLike Fill HammingWindow HannWindow LinSpace MelWeightMatrix OnesLike
        Range ZerosLike
        arange bartlett_window blackman_window _efficientzerotensor eye fill full full_like hamming_window hann_window
        iota kaiser_window linspace logspace new_full new_ones new_zeros _new_zeros_with_same_feature_meta ones
        ones_like scalar_tensor tril_indices triu_indices zero zeros zeros_like
    """,
    "random": """
        AllCandidateSampler Bernoulli FixedUnigramCandidateSampler LearnedUnigramCandidateSampler
        LogUniformCandidateSampler Multinomial NonDeterministicInts ParameterizedTruncatedNormal RandomCrop
        RandomGamma RandomIndexShuffle RandomNormal RandomNormalLike RandomPoisson RandomPoissonV2 RandomShuffle
        RandomStandardNormal RandomUniform RandomUniformInt RandomUniformLike StatefulRandomBinomial
        StatefulStandardNormal StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt
        StatefulUniformInt StatelessMultinomial StatelessParameterizedTruncatedNormal StatelessRandomBinomial
        StatelessRandomGammaV2 StatelessRandomGammaV3 StatelessRandomNormal StatelessRandomNormalV2
        StatelessRandomPoisson StatelessRandomUniform StatelessRandomUniformFullInt StatelessRandomUniformFullIntV2
        StatelessRandomUniformInt StatelessRandomUniformIntV2 StatelessRandomUniformV2 StatelessShuffle
        StatelessTruncatedNormal StatelessTruncatedNormalV2 TruncatedNormal UniformCandidateSampler
        bernoulli binomial cauchy exponential geometric inductor_random log_normal multinomial normal
        normal_functional _philox_normal philox_rand _philox_uniform poisson rand rand_like randint randint_like randn
        randn_like random randperm _sample_dirichlet _standard_gamma uniform
    """,
    "movement": """
        AllToAll Assign AssignVariableOp BatchMatrixBandPart BatchMatrixDiag BatchMatrixSetDiag BatchToSpace
        BatchToSpaceND Broadcast BroadcastTo CenterCropPad Col2Im CollectiveAllToAllV2 CollectiveAllToAllV3
        CollectiveBcastRecv CollectiveBcastRecvV2 CollectiveBcastSend CollectiveBcastSendV2 CollectiveGather
        CollectiveGatherV2 CollectivePermute CollectiveReduce CollectiveReduceScatterV2 CollectiveReduceV2
        CollectiveReduceV3 Concat ConcatFromSequence ConcatV2 ConjugateTranspose Copy _CopyFromGpuToHost
        _CopyFromHostToGpu CopyHost CopyToMesh CrossReplicaSum DataFormatDimMap DataFormatVecPermute DeepCopy
        DepthToSpace Diag DiagPart DynamicPartition DynamicStitch Expand ExtractImagePatches ExtractVolumePatches
        ListDiff MatrixBandPart MatrixDiag MatrixDiagPart MatrixDiagPartV2 MatrixDiagPartV3 MatrixDiagV2 MatrixDiagV3
        MatrixSetDiag MatrixSetDiagV2 MatrixSetDiagV3 Memcpy MirrorPad MirrorPadGrad NcclAllReduce NcclBroadcast
        NcclReduce NGramRepeatBlock Pack Pad PadV2 ParallelConcat _ParallelConcatUpdate ParallelDynamicStitch
        QLinearConcat QuantizedConcat QuantizedConcatV2 QueueDequeue QueueDequeueMany QueueDequeueManyV2
        QueueDequeueUpTo QueueDequeueUpToV2 QueueDequeueV2 QueueEnqueue QueueEnqueueMany QueueEnqueueManyV2
        QueueEnqueueV2 RaggedRange RaggedTensorToTensor Relayout RemovePadding ResourceStridedSliceAssign RestorePadding
        Reverse ReverseSequence ReverseV2 Roll _ScopedAllocatorConcat SequenceConstruct SequenceErase SequenceInsert
        SpaceToBatch SpaceToBatchND SpaceToDepth SparseReshape Split SplitToSequence SplitV Stack StackPush StackPushV2
        Stage StridedSliceAssign StridedSliceGrad TensorArrayConcat TensorArrayConcatV2 TensorArrayConcatV3
        TensorArrayGather TensorArrayGatherV2 TensorArrayGatherV3 TensorArrayPack TensorArrayScatter
        TensorArrayScatterV2 TensorArrayScatterV3 TensorArraySplit TensorArraySplitV2 TensorArraySplitV3
        TensorArrayUnpack TensorArrayWrite TensorArrayWriteV2 TensorArrayWriteV3 TensorListConcat TensorListConcatLists
        TensorListConcatV2 TensorListFromTensor TensorListGather TensorListPushBack TensorListPushBackBatch
        TensorListSetItem TensorListSplit TensorListStack TensorStridedSliceUpdate Tile Transpose UnfoldTensor Unpack
        UnravelIndex Unstage
        alias_copy all_gather_into_tensor all_gather_into_tensor_coalesced all_reduce all_reduce_coalesced
        all_to_all_single as_strided_copy block_diag broadcast cartesian_prod cat channel_shuffle _chunk_cat clone
        col2im collapse column_stack combinations concat concatenate constant_pad_nd contiguous copy _copy_from
        _copy_from_and_resize copy_to cpu cuda device_put diag diag_embed diagflat dstack expand_copy fft_fftshift
        fft_ifftshift flatten_dense_tensors flip fliplr flipud hstack im2col kron meshgrid
        mkldnn_reorder_conv2d_weight _mkldnn_transpose native_channel_shuffle _pack_padded_sequence pad _pad_circular
        _pad_enum _pad_packed_sequence pad_sequence permute_copy _pin_memory pin_memory pixel_shuffle pixel_unshuffle
        reduce_scatter_tensor reflection_pad1d reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward
        reflection_pad3d reflection_pad3d_backward repeat repeat_interleave replication_pad1d
        replication_pad1d_backward replication_pad2d replication_pad2d_backward replication_pad3d
        replication_pad3d_backward _reshape_alias_copy _reshape_copy resize_as roll rot90 row_stack split_copy
        split_with_sizes_copy squeeze_copy _stack stack t_copy tile _to_cpu _to_dense to_dense to_mkldnn
        to_mkldnn_backward transpose_copy unbind_copy unflatten_dense_tensors unfold_backward unfold_copy
        unsqueeze_copy vander view_as_complex_copy view_as_real_copy view_copy vstack wait
    """,
    "call": """
        BatchFunction Case For If _If Loop MapDefun PartitionedCall RemoteCall Scan SequenceMap
        StatefulPartitionedCall StatelessCase StatelessIf StatelessWhile SymbolicGradient TPUPartitionedCall While
        _While XlaIf XlaLaunch XlaWhile
        call_function call_module cond map_impl scan while_loop
    """,
    "view": """
        Abort _ArrayToList Assert AudioSummary AudioSummaryV2 BitCast Bitcast BroadcastArgs BroadcastGradientArgs
        CheckPinned CheckpointEntry CloseSummaryWriter ConcatOffset ControlTrigger CopyToMeshGrad
        CreateSummaryFileWriter DebugGradientIdentity DebugGradientRefIdentity DebugIdentity DebugIdentityV2
        DebugIdentityV3 DeleteSeedGenerator DestroyResourceOp DestroyTemporaryVariable DeviceIndex DisableCopyOnRead
        Dropout DummySeedGenerator Empty EmptyTensorList EnsureShape Enter Exit ExpandDims FakeParam FIFOQueue
        FIFOQueueV2 Flatten FlushSummaryWriter GuaranteeConst HistogramSummary _HostRecv _HostSend Identity IdentityN
        ImageSummary InvertPermutation IsVariableInitialized _ListToArray LoopCond MakeWeakResourceHandle Merge
        MergeSummary MutexLock MutexV2 NextIteration NoOp Optional OptionalFromValue OptionalGetElement
        OptionalGetValue OptionalHasElement OptionalHasValue OptionalNone PaddingFIFOQueueV2 PlaceholderWithDefault
        PreventGradient Print PrintV2 PriorityQueueV2 QuantizedReshape QueueClose QueueCloseV2 QueueIsClosed
        QueueIsClosedV2 QueueSize QueueSizeV2 RandomShuffleQueue RandomShuffleQueueV2 Rank ReadVariableOp
        _ReadVariablesOp Recv _Recv RefEnter RefExit RefIdentity RefMerge RefNextIteration RefSelect RefSwitch
        ReorderInput ReorderOutput Reshape
        ResourceInitializedOp ScalarSummary Send _Send SequenceEmpty SequenceLength Shape ShapeN Size Snapshot Squeeze
        StackClose StackCloseV2 StackV2 StopGradient SummaryWriter Switch _SwitchN TensorArray TensorArrayClose
        TensorArrayCloseV2 TensorArrayCloseV3 TensorArrayGrad TensorArrayGradV2 TensorArrayGradV3
        TensorArrayGradWithShape TensorArraySize TensorArraySizeV2 TensorArraySizeV3 TensorArrayV2 TensorArrayV3
        TensorListElementShape TensorListLength TensorListReserve TensorListResize TensorSummary TensorSummaryV2
        Timestamp Unsqueeze VariableShape VarIsInitializedOp WriteHistogramSummary WriteImageSummary
        WriteScalarSummary WriteSummary
        adjoint alias as_strided _assert_async _assert_scalar _assert_tensor_metadata atleast_1d atleast_2d atleast_3d
        broadcast_in_dim broadcast_tensors broadcast_to chunk collapse_view _conj conj data
        _debug_has_internal_overlap detach detach_copy diagonal dim dsplit empty empty_like empty_permuted
        empty_strided expand expand_as flatten _functional_assert_async _functional_assert_scalar
        _functional_sym_constrain_range _functional_sym_constrain_range_for_size _fused_sdp_choice getitem hsplit imag
        inductor_force_stride_order inductor_lookup_seed inductor_seeds is_complex is_floating_point is_same_size item
        _lazy_clone lift lift_fresh lift_fresh_copy _local_scalar_dense _make_dep_token matrix_H mH _mkldnn_reshape
        moveaxis movedim mT narrow _neg_view new_empty new_empty_strided numel numpy_T output permute _print ravel
        real requires_grad reshape _reshape_alias reshape_as resize resolve_conj resolve_neg select set set_data
        _shape_as_tensor size slice split split_dim split_with_sizes squeeze stride swapaxes swapdims
        sym_constrain_range sym_constrain_range_for_size sym_is_contiguous sym_numel sym_size sym_storage_offset
        sym_stride T t tensor_split transpose unbind unflatten unfold unsafe_chunk unsafe_split
        unsafe_split_with_sizes _unsafe_view unsqueeze view view_as view_as_complex view_as_real view_dtype view_of
        vsplit wait_tensor
    """,
    "source": """
        AnonymousIterator AnonymousIteratorV2 AnonymousIteratorV3 _Arg AutoReloadVariable Const Constant _DeviceArg
        _DeviceRetval _EagerConst FixedLengthRecordReaderV2 HashTable HashTableV2 HostConst ImmutableConst
        InfeedDequeue Input Iterator IteratorFromStringHandle IteratorFromStringHandleV2 IteratorGetNext
        IteratorGetNextAsOptional IteratorGetNextSync IteratorV2 MakeIterator MergeV2Checkpoints MutableHashTable
        MutableHashTableV2 OneShotIterator OutfeedEnqueue Placeholder PlaceholderV2 ReaderReadV2 ReadFile RecordInput
        Restore RestoreSlice RestoreV2 _Retval Save SaveSlices SaveV2 ShardedFilename TemporaryVariable
        TFRecordReaderV2 VarHandleOp _VarHandlesOp Variable VariableV2 WriteFile
        constant get_attr input parameter placeholder _tensor_constant
    """,
}
XLA = {  # opcodes of HLO; those of StableHLO (``stablehlo.dot_general``) are looked up without their dialect, `_` as `-`
    "matmul": "dot dot-general ragged-dot",
    "convolution": "convolution dynamic-conv",
    "elementwise": """
        abs acos acosh add and asin asinh atan2 atanh bessel-i1e bitcast-convert cbrt ceil clamp compare complex conj
        convert cosh cosine count-leading-zeros digamma divide erf erf-inv erfc exponential exponential-minus-one floor
        imag is-finite is-inf is-neg-inf is-pos-inf lgamma log log-plus-one logistic map maximum minimum multiply negate
        next-after not or popcnt power real reduce-precision remainder round-nearest-afz round-nearest-even rsqrt select
        shift-left shift-right-arithmetic shift-right-logical sign sine sinh sqrt square stochastic-convert subtract
        tan tanh uniform-dequantize uniform-quantize xor
    """,
    "reduction": "reduce",
    "pooling": "reduce-window select-and-scatter",
    "normalisation": "batch-norm-grad batch-norm-inference batch-norm-training",
    "transform": "fft",
    "sort": "sort top-k topk",
    "gather": "dynamic-gather dynamic-slice gather real-dynamic-slice slice torch-index-select",
    "scatter": "scatter",
    "fill": "dynamic-iota iota",
    "random": "rng rng-bit-generator",
    "movement": """
        all-gather all-reduce all-to-all broadcast broadcast-in-dim collective-broadcast collective-permute concatenate
        copy dynamic-broadcast-in-dim dynamic-pad dynamic-update-slice infeed outfeed pad ragged-all-to-all recv
        recv-done reduce-scatter reverse send send-done transpose
    """,
    "call": "async call case composite conditional fusion if while",
    "view": """
        add-dependency after-all bitcast create-token domain dynamic-reshape get-dimension-size get-tuple-element
        opt-barrier optimization-barrier partition-id replica-id reshape rng-get-and-update-state set-dimension-size
        tuple
    """,
    "source": "constant parameter",
}
CATEGORIES = tuple(TABLE)
DIALECTS = ("stablehlo", "mhlo", "chlo")
_XLA = {kind: category for category, kinds in XLA.items() for kind in kinds.split()}
_CATEGORY = {kind: category for category, kinds in TABLE.items() for kind in kinds.split()}


NAMESPACES = ("aten", "prims", "_c10d_functional", "c10d_functional", "c10d")  # of PyTorch: namespace.name.overload


def name_of(kind: str) -> str:
    """The bare name of an op type: without PyTorch's namespace, overload, in-place or list mark, or ONNX's domain.

    >>> [name_of(kind) for kind in ("aten.add_.Tensor", "aten::_foreach_add", "com.microsoft.Gelu", "Conv2D")]
    ['add', 'add', 'Gelu', 'Conv2D']
    """
    name = kind.rpartition("::")[2].removeprefix("torch.ops.")
    space, dot, rest = name.partition(".")
    if dot:
        name = rest.partition(".")[0] if space in NAMESPACES else name.rpartition(".")[2]
    name = name.removeprefix("_foreach_")
    in_place = name.endswith("_") and not name.startswith("__") and not name[0].isupper()
    return name[:-1] if in_place else name


@lru_cache(4096)
def category(kind: str) -> str:
    """Category of an op type, one of ``CATEGORIES``; ``"unknown"`` if it is not listed.

    >>> category("aten.addmm.default"), category("Conv2DBackpropFilter"), category("Mystery")
    ('matmul', 'convolution', 'unknown')
    """
    dialect, _, name = kind.partition(".")
    found = _XLA.get(name.replace("_", "-") if dialect in DIALECTS else kind)
    return found or _CATEGORY.get(kind) or _CATEGORY.get(name_of(kind), UNKNOWN)
