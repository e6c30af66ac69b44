// Package decision stands at both ends of the way of a request that is a question: another proxy asks whether the request of
// its client may pass (limit_decision). Before the server is chosen, or behind the match where a location says so, it makes
// of the question the request that is asked about; in the place of the content it says yes. It limits nothing itself, and
// who does not belong to the trusted peers is asked nothing and asks for itself.
//
// What a question says is read from one family of header fields, so that a field of another family, which the proxy passes
// on as its client sent it, has no say. What a proxy sets it replaces; a field that is there twice and differs, or that does
// not read as an edge would have read it, ends the question with an error instead of a guess.
package decision
