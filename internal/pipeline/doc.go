// Package pipeline joins the phases to a program: a checked configuration compiled into tables that never change, and the
// walk of a request through them. It stands between the edges, which bring requests, and the phases, which decide; it
// decides nothing itself but which page an error gets.
//
// Every scope of the configuration (the http block, each server, each location) has one handler a phase, in the order of
// package phase. A request takes the handlers of its server up to the match phase and those of its location from there
// on. Errors go back through the walk where error_page sends them inside, ten times at most; in the end the answer is
// finished, held places are given back, also after a panic, and the access log is written.
package pipeline
