// Package daemon is the life of the gateway's process: it owns every goroutine, socket, file and zone, and hands them to
// the programs that package pipeline compiles. It stands around the whole path of a request and takes no part in it.
//
// A program is immutable and lives in a generation. A reload compiles another one, binds what it listens on, puts it in
// place with one pointer, and the old generation ends with its last request. Zones and log files are shared by all
// generations that name them; sockets stay open as long as the running one lists them. A configuration that does not
// compile changes nothing.
package daemon
