package conformance

import "strings"

// smuggle is what a client sends that hopes to be read as more, or as something else, by who stands behind the gateway. The
// part that must not become a request of its own asks for /smuggled.
type smuggle struct {
	name string
	raw  string
	two  bool   // it is two requests by the letter, and both may reach the upstream, one after the other
	why  string // where the two gateways answer differently: why
}

const (
	hidden  = "GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n"
	notCRLF = "a line of chunks ends with CR LF: others read on behind a bare LF"
	noHost  = "no name of a host: what it is read as differs from server to server"
)

// postOf is a POST with these header lines, and what stands behind its head.
func postOf(lines, rest string) string {
	return "POST /p HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n\r\n" + rest
}

// chunksOf is a POST in chunks.
func chunksOf(rest string) string { return postOf("Transfer-Encoding: chunked", rest) }

// getOf is a GET with these header lines.
func getOf(lines string) string { return "GET /g HTTP/1.1\r\nHost: h\r\n" + lines + "\r\n\r\n" }

func smuggles() []smuggle {
	var all []smuggle
	for _, part := range [][]smuggle{smuggledLengths, smuggledEncodings, smuggledChunks, smuggledHosts, smuggledLines, smuggledFields, smuggledBehind} {
		all = append(all, part...)
	}
	return all
}

var smuggledLengths = []smuggle{
	{name: "length and chunks", raw: postOf("Content-Length: 6\r\nTransfer-Encoding: chunked", "0\r\n\r\nG"+hidden)},
	{name: "chunks and length", raw: postOf("Transfer-Encoding: chunked\r\nContent-Length: 4", "23\r\n"+hidden+"\r\n0\r\n\r\n")},
	{name: "chunks and length 0", raw: postOf("Transfer-Encoding: chunked\r\nContent-Length: 0", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "two lengths", raw: postOf("Content-Length: 5\r\nContent-Length: 0", "hello"+hidden)},
	{name: "the same length twice", raw: postOf("Content-Length: 5\r\nContent-Length: 5", "hello")},
	{name: "a list of lengths", raw: postOf("Content-Length: 5, 5", "hello")},
	{name: "a list of other lengths", raw: postOf("Content-Length: 0, 5", "hello")},
	{name: "length +5", raw: postOf("Content-Length: +5", "hello")},
	{name: "length -5", raw: postOf("Content-Length: -5", "hello")},
	{name: "length 0x5", raw: postOf("Content-Length: 0x5", "hello")},
	{name: "length 5e0", raw: postOf("Content-Length: 5e0", "hello")},
	{name: "length 5 5", raw: postOf("Content-Length: 5 5", "hello")},
	{name: "length 05", raw: postOf("Content-Length: 05", "hello")},
	{name: "length 5;", raw: postOf("Content-Length: 5;", "hello")},
	{name: "length 5.0", raw: postOf("Content-Length: 5.0", "hello")},
	{name: "length in quotes", raw: postOf(`Content-Length: "5"`, "hello")},
	{name: "no length in the line", raw: postOf("Content-Length:", "hello")},
	{name: "length and NUL", raw: postOf("Content-Length: 5\x00", "hello")},
	{name: "length in other digits", raw: postOf("Content-Length: ٥", "hello")},
	{name: "length 2^64+5", raw: postOf("Content-Length: 18446744073709551621", "hello")},
	{name: "length 2^63+5", raw: postOf("Content-Length: 9223372036854775813", "hello")},
	{name: "length 2^32+5", raw: postOf("Content-Length: 4294967301", "hello")},
	{name: "length folded", raw: postOf("Content-Length: 0\r\n 5", "hello")},
	{name: "length on the next line", raw: postOf("Content-Length:\r\n 5", "hello")},
	{name: "space before the colon of a length", raw: postOf("Content-Length : 5", "hello")},
	{name: "tab before a length", raw: postOf("Content-Length:\t5\t", "hello")},
	{name: "length with an underscore", raw: postOf("Content_Length: 5\r\nContent-Length: 0", hidden), two: true},
	{name: "length 0 and more", raw: postOf("Content-Length: 0", hidden), two: true},
	{name: "length too short", raw: postOf("Content-Length: 3", "hel"+hidden), two: true},
	{name: "length too long", raw: postOf("Content-Length: 500", hidden)},
	{name: "GET with a length", raw: "GET /g HTTP/1.1\r\nHost: h\r\nContent-Length: 35\r\n\r\n" + hidden},
	{name: "HEAD with a length", raw: "HEAD /g HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"},
	{name: "no length and more", raw: "POST /p HTTP/1.1\r\nHost: h\r\n\r\n" + hidden, two: true},
	{name: "100-continue that does not wait", raw: postOf("Expect: 100-continue\r\nContent-Length: 5", "hello")},
}

var smuggledEncodings = []smuggle{
	{name: "xchunked", raw: postOf("Transfer-Encoding: xchunked\r\nContent-Length: 5", "hello")},
	{name: "xchunked alone", raw: postOf("Transfer-Encoding: xchunked", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "identity", raw: postOf("Transfer-Encoding: identity\r\nContent-Length: 5", "hello")},
	{name: "identity alone", raw: postOf("Transfer-Encoding: identity", hidden)},
	{name: "identity, chunked", raw: postOf("Transfer-Encoding: identity, chunked", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunked, identity", raw: postOf("Transfer-Encoding: chunked, identity", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunked, chunked", raw: postOf("Transfer-Encoding: chunked, chunked", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "gzip, chunked", raw: postOf("Transfer-Encoding: gzip, chunked", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunked in two lines", raw: postOf("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunked and x in two lines", raw: postOf("Transfer-Encoding: chunked\r\nTransfer-Encoding: x", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "x and chunked in two lines", raw: postOf("Transfer-Encoding: x\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "CHUNKED", raw: postOf("Transfer-Encoding: CHUNKED", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunked in quotes", raw: postOf(`Transfer-Encoding: "chunked"`, "5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunked;q=1", raw: postOf("Transfer-Encoding: chunked;q=1", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunked and a comma", raw: postOf("Transfer-Encoding: chunked,", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "vertical tab before chunked", raw: postOf("Transfer-Encoding: \x0bchunked\r\nContent-Length: 5", "hello")},
	{name: "tab before chunked", raw: postOf("Transfer-Encoding:\tchunked", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "spaces behind chunked", raw: postOf("Transfer-Encoding: chunked  ", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunked and NUL", raw: postOf("Transfer-Encoding: chunked\x00\r\nContent-Length: 5", "hello")},
	{name: "8-bit space before chunked", raw: postOf("Transfer-Encoding:\xa0chunked\r\nContent-Length: 5", "hello")},
	{name: "empty encoding", raw: postOf("Transfer-Encoding:\r\nContent-Length: 5", "hello")},
	{name: "space before the colon of an encoding", raw: postOf("Transfer-Encoding : chunked\r\nContent-Length: 5", "hello")},
	{name: "space before the name of an encoding", raw: "POST /p HTTP/1.1\r\n Transfer-Encoding: chunked\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello"},
	{name: "encoding folded behind a length", raw: postOf("Content-Length: 5\r\n Transfer-Encoding: chunked", "hello")},
	{name: "encoding on the next line", raw: postOf("Transfer-Encoding:\r\n chunked\r\nContent-Length: 5", "hello")},
	{name: "encoding with an underscore", raw: postOf("Transfer_Encoding: chunked\r\nContent-Length: 5", "hello")},
	{name: "encoding behind a bare LF", raw: postOf("X: x\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "encoding behind a bare CR", raw: postOf("X: x\rTransfer-Encoding: chunked\r\nContent-Length: 5", "hello")},
	{name: "LF before the colon of an encoding", raw: postOf("Transfer-Encoding\n: chunked\r\nContent-Length: 5", "hello")},
	{name: "chunks in HTTP/1.0", raw: "POST /p HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	{name: "chunks and a length in HTTP/1.0", raw: "POST /p HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello"},
	{name: "GET in chunks", raw: "GET /g HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
	{name: "connection names the encoding", raw: postOf("Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n")},
	{name: "connection names the length", raw: postOf("Connection: Content-Length\r\nContent-Length: 5", "hello")},
}

var smuggledChunks = []smuggle{
	{name: "chunks", raw: chunksOf("5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunks and more", raw: chunksOf("5\r\nhello\r\n0\r\n\r\n" + hidden), two: true},
	{name: "chunk 0x5", raw: chunksOf("0x5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk +5", raw: chunksOf("+5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk -1", raw: chunksOf("-1\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk 5 and a space", raw: chunksOf("5 \r\nhello\r\n0\r\n\r\n")},
	{name: "space and chunk 5", raw: chunksOf(" 5\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk 5_0", raw: chunksOf("5_0\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk g", raw: chunksOf("g\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk without a size", raw: chunksOf("\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk with zeros", raw: chunksOf("0000000000000000000000005\r\nhello\r\n0\r\n\r\n")},
	{name: "last chunk with zeros", raw: chunksOf("5\r\nhello\r\n0000\r\n\r\n")},
	{name: "chunk 2^64+5", raw: chunksOf("10000000000000005\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk 2^63+5", raw: chunksOf("8000000000000005\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk 2^32+5", raw: chunksOf("100000005\r\nhello\r\n0\r\n\r\n")},
	{name: "chunk and an extension", raw: chunksOf("5;name=value\r\nhello\r\n0;x\r\n\r\n")},
	{name: "chunk and a quoted line end", raw: chunksOf("5;x=\"\r\nhello\r\n0\r\n\r\n\"\r\n")},
	{name: "extension with a bare LF", raw: chunksOf("5;x\nhello\r\n0\r\n\r\n"), why: notCRLF},
	{name: "extension with a bare CR", raw: chunksOf("5;x\ry\r\nhello\r\n0\r\n\r\n")},
	{name: "extension with NUL", raw: chunksOf("5;\x00\r\nhello\r\n0\r\n\r\n")},
	{name: "two chunks, one read as an extension", raw: chunksOf("2;\nxx\r\n41\r\n0\r\n\r\n" + hidden + "\r\n0\r\n\r\n"), why: notCRLF},
	{name: "chunk line of bare LF", raw: chunksOf("5\nhello\r\n0\r\n\r\n"), why: notCRLF},
	{name: "chunk line of bare CR", raw: chunksOf("5\rhello\r\n0\r\n\r\n")},
	{name: "bare LF behind the data", raw: chunksOf("5\r\nhello\n0\r\n\r\n"), why: notCRLF},
	{name: "no line end behind the data", raw: chunksOf("5\r\nhello0\r\n\r\n")},
	{name: "two bytes in place of a line end", raw: chunksOf("5\r\nhelloXX0\r\n\r\n" + hidden)},
	{name: "chunk shorter than said", raw: chunksOf("5\r\nhell\r\n0\r\n\r\n"), why: "no CR LF behind what is said to be the chunk: nginx takes the LF alone"},
	{name: "last chunk without its end", raw: chunksOf("5\r\nhello\r\n0\r\n" + hidden)},
	{name: "last chunk of bare LF", raw: chunksOf("5\r\nhello\r\n0\n\n"), why: notCRLF},
	{name: "trailers", raw: chunksOf("5\r\nhello\r\n0\r\nX-Trailer: a\r\n\r\n")},
	{name: "a length among trailers", raw: chunksOf("5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n" + hidden), two: true},
	{name: "an encoding among trailers", raw: chunksOf("5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\nHost: other\r\n\r\n")},
	{name: "no colon in a trailer", raw: chunksOf("5\r\nhello\r\n0\r\nnothing\r\n\r\n")},
	{name: "NUL in a trailer", raw: chunksOf("5\r\nhello\r\n0\r\nX: \x00\r\n\r\n")},
	{name: "bare CR in a trailer", raw: chunksOf("5\r\nhello\r\n0\r\nX: a\rb\r\n\r\n")},
}

var smuggledHosts = []smuggle{
	{name: "two hosts", raw: "GET /g HTTP/1.1\r\nHost: h\r\nHost: other\r\n\r\n"},
	{name: "the same host twice", raw: "GET /g HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n"},
	{name: "no host", raw: "GET /g HTTP/1.1\r\n\r\n"},
	{name: "empty host", raw: "GET /g HTTP/1.1\r\nHost:\r\n\r\n"},
	{name: "space in a host", raw: "GET /g HTTP/1.1\r\nHost: a b\r\n\r\n"},
	{name: "tab in a host", raw: "GET /g HTTP/1.1\r\nHost: a\tb\r\n\r\n"},
	{name: "NUL in a host", raw: "GET /g HTTP/1.1\r\nHost: a\x00b\r\n\r\n"},
	{name: "slash in a host", raw: "GET /g HTTP/1.1\r\nHost: a/b\r\n\r\n"},
	{name: "backslash in a host", raw: "GET /g HTTP/1.1\r\nHost: a\\b\r\n\r\n", why: noHost},
	{name: "user in a host", raw: "GET /g HTTP/1.1\r\nHost: u@h\r\n\r\n", why: noHost},
	{name: "list in a host", raw: "GET /g HTTP/1.1\r\nHost: a, b\r\n\r\n"},
	{name: "two ports in a host", raw: "GET /g HTTP/1.1\r\nHost: h:80:81\r\n\r\n", why: noHost},
	{name: "letters in a port", raw: "GET /g HTTP/1.1\r\nHost: h:80x\r\n\r\n", why: noHost},
	{name: "two dots in a host", raw: "GET /g HTTP/1.1\r\nHost: a..b\r\n\r\n"},
	{name: "8-bit host", raw: "GET /g HTTP/1.1\r\nHost: \xff\xfe\r\n\r\n", why: noHost},
	{name: "open bracket in a host", raw: "GET /g HTTP/1.1\r\nHost: [::1\r\n\r\n", why: noHost},
	{name: "bare CR in a host", raw: "GET /g HTTP/1.1\r\nHost: a\rb\r\n\r\n"},
	{name: "host folded", raw: "GET /g HTTP/1.1\r\nHost: h\r\n other\r\n\r\n"},
	{name: "space before the colon of a host", raw: "GET /g HTTP/1.1\r\nHost : h\r\n\r\n"},
	{name: "absolute form, other host", raw: "GET http://first/g HTTP/1.1\r\nHost: second\r\n\r\n"},
	{name: "absolute form, no host", raw: "GET http://first/g HTTP/1.1\r\n\r\n"},
	{name: "absolute form, other scheme", raw: "GET gopher://first/g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "absolute form, empty host", raw: "GET http:///g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "absolute form, a user", raw: "GET http://u:p@first/g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "authority form", raw: "GET first:80 HTTP/1.1\r\nHost: h\r\n\r\n"},
}

var smuggledLines = []smuggle{
	{name: "HTTP/0.9", raw: "GET /g\r\n"},
	{name: "HTTP/0.9 and more", raw: "GET /g\r\n" + hidden},
	{name: "HTTP/1.2", raw: "GET /g HTTP/1.2\r\nHost: h\r\n\r\n"},
	{name: "HTTP/2.0", raw: "GET /g HTTP/2.0\r\nHost: h\r\n\r\n"},
	{name: "HTTP/1.10", raw: "GET /g HTTP/1.10\r\nHost: h\r\n\r\n"},
	{name: "HTTP/01.1", raw: "GET /g HTTP/01.1\r\nHost: h\r\n\r\n"},
	{name: "http/1.1", raw: "GET /g http/1.1\r\nHost: h\r\n\r\n"},
	{name: "no version", raw: "GET /g HTTP/\r\nHost: h\r\n\r\n"},
	{name: "more spaces in the line", raw: "GET  /g  HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "tabs in the line", raw: "GET\t/g\tHTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "spaces behind the version", raw: "GET /g HTTP/1.1  \r\nHost: h\r\n\r\n"},
	{name: "two versions", raw: "GET /g HTTP/1.1 HTTP/1.0\r\nHost: h\r\n\r\n"},
	{name: "space in the target", raw: "GET /a b HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "NUL in the target", raw: "GET /a\x00b HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "bare CR in the target", raw: "GET /a\rb HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "control byte in the target", raw: "GET /a\x01b HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "line ends in escapes", raw: "GET /a%20HTTP/1.1%0d%0aHost:%20h%0d%0a%0d%0aGET%20/smuggled HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "escaped NUL", raw: "GET /a%00b HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "broken escape", raw: "GET /a%zz HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "fragment", raw: "GET /g#frag HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "above the root", raw: "GET /../g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "asterisk", raw: "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "small letters in the method", raw: "get /g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "odd byte in the method", raw: "GE\x01T /g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "bracket in the method", raw: "G(T /g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "no method", raw: " /g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "CONNECT", raw: "CONNECT h:80 HTTP/1.1\r\nHost: h\r\n\r\n" + hidden, why: "nginx refuses the form of the target, limitgate the method"},
	{name: "TRACE", raw: "TRACE /g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "bare LF all along", raw: "GET /g HTTP/1.1\nHost: h\n\n"},
	{name: "bare LF ends the head", raw: "GET /g HTTP/1.1\r\nHost: h\r\n\n" + hidden, two: true},
	{name: "CR CR LF", raw: "GET /g HTTP/1.1\r\r\nHost: h\r\n\r\n"},
	{name: "empty line before", raw: "\r\n\r\nGET /g HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "two requests", raw: getOf("A: b") + hidden, two: true},
	{name: "giant line", raw: "GET /" + strings.Repeat("g", 9000) + " HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "TLS", raw: "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"},
	{name: "preface of HTTP/2", raw: "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"},
}

var smuggledFields = []smuggle{
	{name: "giant field", raw: getOf("X: " + strings.Repeat("x", 9000))},
	{name: "giant name", raw: getOf(strings.Repeat("x", 9000) + ": x")},
	{name: "giant head", raw: getOf(strings.Repeat("X: "+strings.Repeat("x", 4000)+"\r\n", 9) + "Y: y")},
	{name: "no colon", raw: getOf("nothing")},
	{name: "empty name", raw: getOf(": x")},
	{name: "space in a name", raw: getOf("X Y: z")},
	{name: "NUL in a name", raw: getOf("X\x00Y: z")},
	{name: "bare CR in a name", raw: getOf("X\rY: z")},
	{name: "8-bit name", raw: getOf("X\xff: z")},
	{name: "bracket in a name", raw: getOf("X(: z")},
	{name: "NUL in a value", raw: getOf("X: a\x00b")},
	{name: "bare CR in a value", raw: getOf("X: a\rb")},
	{name: "control byte in a value", raw: getOf("X: a\x01b")},
	{name: "DEL in a value", raw: getOf("X: a\x7fb")},
	{name: "folded value", raw: getOf("X: a\r\n b")},
	{name: "value folded by a tab", raw: getOf("X: a\r\n\tb")},
	{name: "request line in a folded value", raw: getOf("X: a\r\n GET /smuggled HTTP/1.1")},
	{name: "request behind CR CR LF", raw: getOf("X: a\r\r\n\r\r\n" + hidden)},
	{name: "first field folded", raw: "GET /g HTTP/1.1\r\n X: a\r\nHost: h\r\n\r\n"},
	{name: "connection names the host", raw: getOf("Connection: Host, X\r\nX: y")},
	{name: "upgrade to h2c", raw: getOf("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__")},
	{name: "upgrade nobody agrees to", raw: getOf("Connection: Upgrade\r\nUpgrade: websocket") + hidden, two: true},
	{name: "line end in escapes in a value", raw: getOf("X: a%0d%0aY: z")},
}

// smuggledBehind are requests that come one behind the other on a connection: where one of them ends must be as clear as what it is.
var smuggledBehind = []smuggle{
	{name: "a request as a body", raw: postOf("Content-Length: 35", hidden)},
	{name: "a request as a chunk", raw: chunksOf("23\r\n" + hidden + "\r\n0\r\n\r\n")},
	{name: "chunks end, a request follows", raw: chunksOf("5\r\nhello\r\n0\r\n\r\n") + hidden, two: true},
	{name: "the end of chunks lacks its line, a request follows", raw: chunksOf("5\r\nhello\r\n0\r\n") + hidden},
	{name: "end of chunks in an extension in quotes", raw: chunksOf("5;a=\"\r\n0\r\n\r\n\"\r\nhello\r\n0\r\n\r\n") + hidden},
	{name: "trailers with a length and an encoding, a request follows", raw: chunksOf("5\r\nhello\r\n0\r\nContent-Length: 500\r\nTransfer-Encoding: chunked\r\nHost: other\r\n\r\n") + hidden, two: true},
	{name: "size of 17 digits behind zeros", raw: chunksOf("0000000000000000000000005\r\nhello\r\n0\r\n\r\n")},
	{name: "size of 17 digits", raw: chunksOf("10000000000000005\r\nhello\r\n0\r\n\r\n") + hidden},
	{name: "a longer chunk than its size", raw: chunksOf("3\r\nhello\r\n0\r\n\r\n") + hidden},
	{name: "tab behind a size", raw: chunksOf("5\t\r\nhello\r\n0\r\n\r\n")},
	{name: "CR alone behind a size", raw: chunksOf("5\rhello\r\n0\r\n\r\n") + hidden},
	{name: "chunks behind length 0", raw: postOf("Content-Length: 0", "0\r\n\r\n") + hidden},
	{name: "connection names the length, a request follows", raw: postOf("Connection: content-length, keep-alive\r\nContent-Length: 5", "hello") + hidden, two: true},
	{name: "connection names the encoding, a request follows", raw: postOf("Connection: keep-alive, transfer-encoding\r\nTransfer-Encoding: chunked", "5\r\nhello\r\n0\r\n\r\n") + hidden, two: true},
	{name: "an expectation of something else, a request follows", raw: postOf("Expect: 200-ok\r\nContent-Length: 5", "hello") + hidden, two: true},
	{name: "HTTP/1.0 in chunks that stays, a request follows", raw: "POST /p HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n" + hidden},
	{name: "HTTP/1.0 that does not stay, a request follows", raw: "POST /p HTTP/1.0\r\nHost: h\r\nContent-Length: 0\r\n\r\n" + hidden},
	{name: "upgrade with a body, a request follows", raw: postOf("Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 5", "hello") + hidden, two: true},
	{name: "the end of a connection, a request follows", raw: getOf("Connection: close") + hidden},
	{name: "empty lines before a request", raw: getOf("X: y") + "\r\n\r\n" + hidden, two: true},
	{name: "a line of something else before a request", raw: getOf("X: y") + "XYZ\r\n\r\n" + hidden},
	{name: "a request in an escaped path", raw: "GET /%20HTTP/1.1%0d%0aHost:%20h%0d%0a%0d%0aGET%20/smuggled HTTP/1.1\r\nHost: h\r\n\r\n"},
	{name: "a request behind a server name", raw: "GET /g HTTP/1.1\r\nHost: h:80@other\r\n\r\n" + hidden, why: noHost},
	{name: "TRACE with a body, a request follows", raw: "TRACE /p HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello" + hidden},
}
