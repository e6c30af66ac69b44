// Package admin is the way in for operators: an HTTP server with JSON on a unix socket that only the owner of the process may open,
// and the client of it. It knows the gateway as an interface, and decides nothing.
//
//	GET  /v1/peers                  the stores, and the instances that share them
//	GET  /v1/top?zone=Z&keys=N&hash=1 what the zones decide, and about whom; all of it may be left out
//	GET  /v1/debug                  texts for who helps, without secrets
//	GET  /v1/key?zone=Z&key=K       what the limits of a zone say of a key
//	POST /v1/key/reset?zone=Z&key=K forgets what the key was charged
//	POST /v1/key/set?zone=Z&key=K   sets other numbers for the key: a body {"rate":"5r/s","burst":9,"until":"…"}; {} takes them back
//	GET  /v1/rollouts               where the rollouts are, and what was seen of them
//	POST /v1/rollout/ACT?name=NAME  advances, holds, resumes or aborts one: ACT is advance, hold, resume or abort
//
// An answer that is not 200 has {"error":"…"}.
package admin
