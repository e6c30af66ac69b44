// Package retry is the client's half of a limit: it asks again what was refused, when the server says, and otherwise not. It stands
// between a client and its transport, decides after each attempt whether there is another, and waits for it. It never sends again what
// may have been done, answers nothing itself, and starts no goroutine.
//
//	client := &http.Client{Transport: retry.New(nil)}
//
// Package retry/grpcretry does the same for gRPC.
//
// # When there is another attempt
//
// All of these must hold: the attempt failed in a way that may pass; sending the request again is safe; fewer than Policy.Attempts were
// made; the next one would begin within Policy.Time and before the context's deadline; and the [Budget] has something left. Otherwise
// the caller gets the answer, or the error, as it came, and at once.
//
// # When it is safe
//
// A request whose body can't be had again (http.Request.GetBody) is sent once. With a method that is not idempotent and without an
// Idempotency-Key it is sent again only if it was certainly not worked on: the answer was 429, or 503 with Retry-After, or the
// connection was never made. A response that has begun is never asked for again: an error in its body is the caller's.
//
// # How long it waits
//
// Without a hint a random time up to a bound that doubles each time (full jitter). With Retry-After at least that long, and a random time
// more, so that clients that were refused together do not come back together.
package retry
