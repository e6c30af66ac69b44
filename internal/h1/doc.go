// Package h1 is the HTTP/1.x codec, both sides: it turns bytes into request and response heads and body framing, and
// writes heads, chunks and error pages. It has no policy, opens no socket, starts no goroutine and reads no clock.
//
// Parsers are resumable state machines over a buffer that the caller owns and may move: they keep offsets ([Span]),
// never slices, and go on where they stood, so a sender that drips bytes costs nothing extra and a verdict doesn't
// depend on how the bytes were split. What they accept, refuse and say about it is nginx's: verdicts and messages are
// those of nginx 1.30, which is stricter than 1.22 in three places (bare LF in chunked framing, the port of a host, the
// target of CONNECT). Nothing allocates on the good path.
package h1
