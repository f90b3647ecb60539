package impl

import (
	"math"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	pb "dubbo-rust/interop/go/gen/interopv1"
)

// FullEcho has every kind of field, with values at the edges.
func FullEcho() *pb.EchoMessage {
	a, err := anypb.New(&pb.FailDetail{Text: "in any", Index: 3})
	if err != nil {
		panic(err)
	}
	nested := &pb.EchoMessage_Nested{Name: "n", Id: -1, Child: &pb.EchoMessage_Nested{Name: "child", Id: math.MinInt64}}
	return &pb.EchoMessage{
		FDouble: math.Pi, FFloat: -1.5, FInt32: math.MinInt32, FInt64: math.MaxInt64,
		FUint32: math.MaxUint32, FUint64: math.MaxUint64, FSint32: -7, FSint64: -1 << 40,
		FFixed32: 0xdeadbeef, FFixed64: 0xfeedfacecafebeef, FSfixed32: -2, FSfixed64: -3,
		FBool: true, FString: "plain, é, 中文, 😀, \u0000.", FBytes: []byte{0, 1, 0xfe, 0xff},
		FEnum: pb.Color_COLOR_BLUE, FNested: nested,
		RInt32: []int32{1, -1, 300, 0}, RString: []string{"", "x", "é"}, RBytes: [][]byte{{}, {0xff}},
		REnum: []pb.Color{pb.Color_COLOR_NEGATIVE, pb.Color_COLOR_RED}, RNested: []*pb.EchoMessage_Nested{nested, {}},
		RDouble: []float64{0, math.Inf(1), math.Inf(-1)},
		MString: map[string]string{"k": "v"}, MNested: map[int64]*pb.EchoMessage_Nested{-5: {Name: "m"}},
		MEnum:  map[bool]pb.Color{true: pb.Color_COLOR_GREEN},
		Choice: &pb.EchoMessage_OString{OString: ""}, OptInt32: proto.Int32(0), OptString: proto.String(""),
		Ts:       timestamppb.New(time.Unix(1500000000, 123456789)),
		Duration: durationpb.New(-1500 * time.Millisecond), Any: a,
		Wrapped: wrapperspb.String(""), WrappedInt64: wrapperspb.Int64(0),
	}
}
