package conf

// rewriteSpecs holds the ways of a request between its parts of the configuration.
func rewriteSpecs() []Spec {
	return []Spec{
		{Name: "rewrite", Contexts: rewriteIn, Min: 2, Max: 3, Merge: Own, Repeat: true, Usage: "EXPRESSION REPLACEMENT [last | break | redirect | permanent]",
			check: read(ReadRewrite),
			Doc: "Replaces a path that fits EXPRESSION. REPLACEMENT may hold $1 to $9 and variables; arguments behind a ? in it come before those of the request, and a ? at its " +
				"end leaves these out. last looks for a location anew, break stays in this one; redirect (302) and permanent (301) send the client there, as does a REPLACEMENT " +
				"that begins with http://, https:// or $scheme. Without any of these the following directives act on the new path. After 10 changes the answer is 500."},
		{Name: "if", Contexts: Server | Location, Min: 1, Max: Any, Opens: IfServer | IfLocation, Merge: Own, Repeat: true, Usage: "(CONDITION)",
			check: read(ReadCondition),
			Doc: "Directives for requests for which CONDITION holds: $NAME (neither empty nor 0), $NAME = TEXT, $NAME ~ EXPRESSION (~* without regard to case), -f FILE, -d FOLDER, " +
				"-e ANYTHING or -x EXECUTABLE, and each with ! before the operator. In a location the block is a location of its own that inherits everything: the request is served by " +
				"the last block whose condition held."},
		{Name: "rewrite_log", Contexts: HTTP | rewriteIn, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether what rewrite and the expressions of if do is logged, at the level notice."},
		{Name: "uninitialized_variable_warn", Contexts: HTTP | rewriteIn, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether using a variable that set did not give a value yet is logged, at the level warn."},
		{Name: "try_files", Contexts: Server | Location, Min: 2, Max: Any, Merge: Own, Usage: "FILE… PATH | @NAME | =CODE", check: read(ReadTryFiles),
			Doc: "Looks for files below root or alias, in this order, and goes on with the path of the first that is there; a FILE with a slash at its end is a folder. If none is, " +
				"the request is sent to PATH or to the location @NAME inside, or answered with CODE. All may hold variables. It acts behind limits and access checks, and in a " +
				"server only on requests that no location fits."},
		{Name: "internal", Contexts: Location,
			Doc: "The location is reached only from inside: by error_page, index, rewrite, try_files, auth_request, mirror and X-Accel-Redirect. Other requests for it are answered with 404."},
		{Name: "mirror", Contexts: httpToLocation, Min: 1, Max: 1, Merge: List, Repeat: true, Usage: "PATH | off", Default: "off", check: checkMirror,
			Doc: "Shows each request to a location of the server as well: a subrequest with its method, head, arguments and body, whose answer is dropped. Several mirrors get a copy each. The " +
				"request is served meanwhile and waits for none; 1024 copies may be under way, further ones are left out and logged at the level warn. Stands behind limits, access checks and " +
				"try_files. Limits are asked once a request: the location's own only where the request had met none of their kind."},
		{Name: "mirror_request_body", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether mirrors get the body of the request. It is read whole before then, whatever proxy_request_buffering says."},
		{Name: "log_subrequest", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether access_log has lines of subrequests too, those of auth_request and mirror."},
		{Name: "recursive_error_pages", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether error_page acts again on an error that happens on the way to an error page."},
		{Name: "absolute_redirect", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether redirects to a path of this server name scheme, host and port. If not, Location is the path alone."},
		{Name: "port_in_redirect", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether such redirects name the port, where it is not that of the scheme."},
		{Name: "server_name_in_redirect", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
			Doc: "Whether such redirects name the first server_name instead of the host that the client asked for."},
		{Name: "log_not_found", Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "on", check: checkFlag,
			Doc: "Whether files that are not there are logged, at the level error."},
	}
}
