// Package conf turns a tree of directives into a checked configuration: every directive known, allowed where it stands,
// with the right number of arguments and valid values, in scopes that know what they inherit. It opens no sockets, no
// logs and no zones, and it evaluates no variables; packages that do compile their part from here.
//
// One table (Table) holds all that is known about a directive; checking, inheritance and the reference in
// docs/directives.md all read it. Messages are nginx's, with a second line that says what would be right.
//
// A compiler of a phase walks the scopes, asks for its directives with Scope.Get, Scope.All and Scope.Own, and reads
// arguments with the typed readers: Directive.Size and its like, LimitReq, Listen and the other functions that turn one
// directive into one struct. Faults go into the same Errors that Load returned, once each, sorted as the files are read.
package conf

//go:generate go run ./gendocs ../../docs/directives.md
