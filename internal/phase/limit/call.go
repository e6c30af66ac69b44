package limit

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"time"

	"github.com/limitgate/limitgate/internal/header"
	"github.com/limitgate/limitgate/internal/request"
)

// What a refused call of gRPC is told. Its client reads no page and guesses of a status: of 503 that the service is away, and
// then it may try again at once. RESOURCE_EXHAUSTED is what a limit says, and google.rpc.RetryInfo when to come again.

// resourceExhausted is the status of a refused call.
const resourceExhausted = 8

const (
	saysTooMany = "too many calls"
	saysAtOnce  = "too many calls at once"
	retryInfo   = "type.googleapis.com/google.rpc.RetryInfo"
)

var (
	nameGRPCStatus  = []byte("grpc-status")
	nameGRPCMessage = []byte("grpc-message")
	nameGRPCDetails = []byte("grpc-status-details-bin")
	namePushback    = []byte("grpc-retry-pushback-ms")
	valueExhausted  = []byte(strconv.Itoa(resourceExhausted))
)

// isCall reports whether a request is a call: a POST of the content type application/grpc, and what begins so. One that another proxy
// asks about is answered to that proxy, and of a subrequest auth_request reads the status: 200, with the refusal behind it, would let
// the client pass.
func isCall(r *request.Request) bool {
	const prefix = "application/grpc"
	t, sent := r.Get(header.ContentType)
	return sent && string(r.Method) == "POST" && r.Asked == nil && !r.IsSub() && len(t) >= len(prefix) && header.EqualFold(t[:len(prefix)], prefix)
}

// refuseCall says for a call that has failed what its client understands. wait is when it would be admitted, 0 where no such time
// exists.
func refuseCall(r *request.Request, says string, wait time.Duration) {
	t, _ := r.Get(header.ContentType)
	r.Response.ContentType = t
	add := func(name, value []byte) {
		r.Response.Call = append(r.Response.Call, request.Header{Name: name, Value: value})
	}
	add(nameGRPCStatus, valueExhausted)
	add(nameGRPCMessage, r.Keep([]byte(says)))
	if wait <= 0 {
		return
	}
	var room [192]byte
	add(nameGRPCDetails, r.Claim(base64.RawStdEncoding.AppendEncode(r.Scratch(), appendStatus(room[:0], says, wait))))
	ms := (wait + time.Millisecond - 1) / time.Millisecond
	add(namePushback, claimInt(r, int64(min(ms, 1<<31-1))))
}

// appendStatus appends a google.rpc.Status with one detail, a google.rpc.RetryInfo, as protobuf encodes them: a few fields of
// which each is its number and type in a byte, and its value.
func appendStatus(b []byte, says string, wait time.Duration) []byte {
	const (
		number = 0 // types: a varint, or a length and as many bytes
		bytes  = 2
	)
	var room [2*binary.MaxVarintLen64 + 4]byte
	delay := room[:0]
	if s := wait / time.Second; s > 0 {
		delay = binary.AppendUvarint(append(delay, 1<<3|number), uint64(s))
	}
	if n := wait % time.Second; n > 0 {
		delay = binary.AppendUvarint(append(delay, 2<<3|number), uint64(n))
	}
	b = append(b, 1<<3|number, resourceExhausted)
	b = append(append(b, 2<<3|bytes, byte(len(says))), says...)
	value := 2 + len(delay)
	b = append(b, 3<<3|bytes, byte(2+len(retryInfo)+2+value))
	b = append(append(b, 1<<3|bytes, byte(len(retryInfo))), retryInfo...)
	b = append(b, 2<<3|bytes, byte(value), 1<<3|bytes, byte(len(delay)))
	return append(b, delay...)
}
