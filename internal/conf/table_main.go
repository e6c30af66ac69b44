package conf

// mainSpecs holds what concerns the process as a whole.
func mainSpecs() []Spec {
	return []Spec{
		{Name: "events", Contexts: Main, Opens: Events, Merge: Own,
			Doc: "Holds the directives about connections. A configuration must have this block, even if it is empty."},
		{Name: "http", Contexts: Main, Opens: HTTP, Merge: Own,
			Doc: "Holds everything about HTTP: servers, upstreams, maps, zones, and defaults that servers and locations inherit."},
		{Name: "include", Contexts: everywhere, Min: 1, Max: 1, Merge: Own, Repeat: true, Usage: "FILE | PATTERN",
			Doc: "Reads other files in this place, in any block. Names are relative to the folder of the main configuration file. A pattern " +
				"with *, ? or [ ] stands for all files that match, sorted by name, and may match none; without one the file must exist. A file " +
				"that includes itself is refused."},
		{Name: "user", Contexts: Main, Min: 1, Max: 2, Merge: Own, Usage: "USER [GROUP]", Default: "nobody",
			Doc: "The account the process changes to once its sockets are bound. Without GROUP the group has the name of the user. It acts only " +
				"if the process was started by root."},
		{Name: "pid", Contexts: Main, Min: 1, Max: 1, Merge: Own, Usage: "FILE", Default: "logs/nginx.pid",
			Doc: "The file that holds the number of the process while it runs. Relative names belong to the prefix."},
		{Name: "admin", Beyond: true, Contexts: Main, Min: 1, Max: 1, Merge: Own, Usage: "PATH | off", Default: "off",
			Doc: "A unix socket for operators, with mode 0600: limitgate top, key, peers and debug ask through it, and so can any program that speaks HTTP and JSON (docs/admin.md). Relative names " +
				"belong to the prefix. Numbers that are set for single keys of zones in this process are kept in the file PATH.keys."},
		{Name: "history", Beyond: true, Contexts: Main, Min: 1, Max: 2, Merge: Own, Usage: "FOLDER [keep=N] | off", Default: "PATH.history keep=20", check: checkHistory,
			Doc: "Where each configuration that becomes active is kept, with all files that -T prints, so that limitgate history shows them and limitgate rollback goes back to one (docs/history.md). " +
				"The folder has mode 0700 and is made if it is not there, its files have mode 0600. keep is how many stay, 2 to 1000, and beyond the last two they take up 64m at most. Relative " +
				"names belong to the prefix. Without the directive it is beside the admin socket, PATH being that of admin, and where there is no admin socket nothing is kept."},
		{Name: "daemon", Contexts: Main, Min: 1, Max: 1, Merge: Own, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether the process detaches from the terminal. Unlike nginx the default is off."},
		{Name: "master_process", Contexts: Main, Min: 1, Max: 1, Merge: Own, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Read for nginx's sake: there is one process, which serves requests itself, whatever this says."},
		{Name: "worker_processes", Contexts: Main, Min: 1, Max: 1, Merge: Own, Usage: "N | auto", Default: "1", check: workerProcesses,
			Doc: "How many threads run the program at the same time; auto is one for each processor."},
		{Name: "worker_shutdown_timeout", Contexts: Main, Min: 1, Max: 1, Merge: Own, Usage: "TIME", check: checkMillis,
			Doc: "How long connections may go on after a reload, or after a QUIT: what is left then of those that were open before is closed. Without it " +
				"they end with their requests, however long these take."},
		{Name: "worker_rlimit_nofile", Contexts: Main, Min: 1, Max: 1, Merge: Own, Usage: "N", check: checkNumber,
			Doc: "How many files and connections the process may have open. Above the limit that it was started with it takes root."},
		{Name: "worker_connections", Contexts: Events, Min: 1, Max: 1, Merge: Own, Usage: "N", Default: "512", check: workerConnections,
			Doc: "How many connections of clients may be open at the same time for each of worker_processes; those to upstreams are not counted. At the bound no new ones are accepted until one closes."},
	}
}

func workerProcesses(c *checker, d *Directive) {
	if _, ok := ParseInt(d.Arg(0)); !ok && d.Arg(0) != "auto" {
		c.errs.Add(d.At(0), `"worker_processes" directive invalid value`, "a whole number or auto is expected")
	}
}

func workerConnections(c *checker, d *Directive) {
	if _, ok := ParseInt(d.Arg(0)); !ok {
		c.errs.Add(d.At(0), `invalid number "`+d.Arg(0)+`"`, "a whole number is expected")
	}
}

func checkHistory(c *checker, d *Directive) { ReadHistory(d, c.errs) }
