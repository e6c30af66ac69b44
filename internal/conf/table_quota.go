package conf

// quotaSpecs holds the limits that nginx does not have.
func quotaSpecs() []Spec {
	const sizes = "SIZE, overflow= and store= are as for limit_req_zone. "
	return []Spec{
		{Name: "limit_count_zone", Beyond: true, Contexts: HTTP, Min: 4, Max: 9, Merge: Own, Repeat: true,
			Usage: "KEY zone=NAME:SIZE limit=N window=TIME [algorithm=sliding | fixed | log] [timezone=NAME] [first=on | off] [overflow=evict | reject] [store=NAME]",
			check: (*checker).checkCountZone,
			Doc: "Declares a zone that counts requests in windows of time. KEY is a text with variables; requests whose key is empty are not counted. " + sizes +
				"At most N are admitted in a window; refused ones are not counted; 0 refuses all. sliding weighs the previous window by the part of it that still counts " +
				"(limit to 1048575), fixed begins anew with each window (to 16777215), log keeps the time of each request (to 10000; 8 bytes for each). " +
				"Windows are 1ms to 366d. Fixed ones are aligned to the epoch, with timezone= to the days of a place (Europe/Berlin), with first=on they begin with a " +
				"key's first request. limit and window may hold variables; each length of window that they give then has a table of SIZE of its own, and a zone has at most 16. " +
				"A changed limit keeps what was counted, a changed window begins afresh."},
		{Name: "limit_count", Beyond: true, Contexts: httpToLocation, Min: 1, Max: 5, Merge: List, Repeat: true, Usage: "zone=NAME [cost=VALUE] [reject_delay=TIME] [fail=open | closed | local] [canary=PERCENT]",
			check: (*checker).checkQuota,
			Doc: "Limits requests by a limit_count_zone. It acts together with limit_req and limit_token: all of them are asked, and only where none refuses all are " +
				"charged. A request counts as VALUE, 1 by default; VALUE may hold variables, and where it is 0 the limit does not count the request. reject_delay=, fail= and canary= are as for limit_req. All limit_count directives " +
				"of a scope replace the inherited ones."},
		quotaStatus("limit_count"), quotaLevel("limit_count"), quotaDryRun("limit_count"),
		{Name: "limit_token_zone", Beyond: true, Contexts: HTTP, Min: 4, Max: 6, Merge: Own, Repeat: true,
			Usage: "KEY zone=NAME:SIZE rate=RATE capacity=N [overflow=evict | reject] [store=NAME]", check: (*checker).checkTokenZone,
			Doc: "Declares a zone of token buckets. KEY is a text with variables; requests whose key is empty are not counted. " + sizes +
				"A bucket is full at first, holds N tokens, and fills at RATE, continuously; a request takes as many as it costs, or is refused; a capacity of 0 refuses all. rate and capacity may hold " +
				"variables. A bucket fills in at most 73 years."},
		{Name: "limit_token", Beyond: true, Contexts: httpToLocation, Min: 1, Max: 5, Merge: List, Repeat: true, Usage: "zone=NAME [cost=VALUE] [reject_delay=TIME] [fail=open | closed | local] [canary=PERCENT]",
			check: (*checker).checkQuota,
			Doc: "Limits requests by a limit_token_zone, together with limit_req and limit_count. A request takes VALUE tokens, 1 by default; VALUE may hold variables, and where it is 0 " +
				"it takes none. reject_delay=, fail= and canary= are as for limit_req. All limit_token directives of a scope replace the inherited ones."},
		quotaStatus("limit_token"), quotaLevel("limit_token"), quotaDryRun("limit_token"),
		{Name: "limit_bandwidth_zone", Beyond: true, Contexts: HTTP, Min: 3, Max: 5, Merge: Own, Repeat: true,
			Usage: "KEY zone=NAME:SIZE rate=BYTES [burst=BYTES] [overflow=evict | reject]", check: (*checker).checkBandwidthZone,
			Doc: "Declares a zone that counts the bytes of answers. KEY is a text with variables; answers whose key is empty are not held. SIZE is as for limit_req_zone. BYTES of rate " +
				"is how many bytes a second all answers of a key get together, 1 to 100,000,000,000; burst, 0 by default, is how many a key may be ahead of that before its answers wait, beside a 25th of a second. " +
				"A full zone forgets the key that is closest to drained; with overflow=reject an answer of a new key waits until there is room. A changed rate or burst keeps what a key owes."},
		{Name: "limit_bandwidth", Beyond: true, Contexts: httpToLocation, Min: 1, Max: 1, Usage: "zone=NAME | off", Default: "off",
			check: (*checker).checkBandwidth,
			Doc: "Holds answers to the rate of a limit_bandwidth_zone, which all answers of a key share; limit_rate is for each answer alone, and where both are in force the slower acts. " +
				"An answer goes in pieces of a 25th of a second, above 400k a second of 16k or a 200th of a second, and each waits for those of the others that came before, so that answers of a key get equal parts. Bodies count, as they are " +
				"sent (compressed, if they are), and heads do not. The key is that of when the body begins. A client that leaves gives nothing back; clients of limit_exempt are not held."},
		{Name: "limit_exempt", Beyond: true, Contexts: httpToLocation, Min: 1, Max: Any, Merge: List, Repeat: true, Usage: "ADDRESS | ADDRESS/BITS | unix: … | none",
			check: read(ReadExempt),
			Doc: "Clients that no limit counts: neither limit_req nor limit_count, limit_token, limit_conn or limit_bandwidth, and their variables stay without a value. limit_rate is not " +
				"concerned. The client is the real one, behind set_real_ip_from. All limit_exempt directives of a scope replace the inherited ones; none alone takes them away."},
		{Name: "limit_error_body", Beyond: true, Contexts: httpToLocation, Min: 1, Max: 1, Usage: "html | json | FILE", Default: "html", check: read(ReadErrorBody),
			Doc: "What the answer to a refused request says: html is the page of its status, json a problem (RFC 9457) with the name of the zone and, where there is one, the time to retry " +
				"after; FILE, which is relative to the folder of the configuration and read with it, is sent as it is, with a type by the end of its name (.html, .json, .txt, .xml). " +
				"An error_page for the status comes before."},
		{Name: "limit_client_network", Beyond: true, Contexts: httpToLocation, Min: 1, Max: 2, Usage: "[ipv4=BITS] [ipv6=BITS]", Default: "ipv4=32 ipv6=64",
			check: read(ReadClientNetwork),
			Doc: "How much of a client's address $client_network and $binary_client_network keep: 1 to 32 bits of IPv4, 1 to 128 of IPv6. Who has an IPv6 network " +
				"has a /64 at least, and can change the rest of an address at will."},
	}
}

func quotaStatus(kind string) Spec {
	return Spec{Name: kind + "_status", Beyond: true, Contexts: httpToLocation, Min: 1, Max: 1, Usage: "CODE", Default: "503", check: numberIn(400, 599),
		Doc: "The status of requests that " + kind + " refuses, from 400 to 599."}
}

func quotaLevel(kind string) Spec {
	return Spec{Name: kind + "_log_level", Beyond: true, Contexts: httpToLocation, Min: 1, Max: 1, Usage: "info | notice | warn | error", Default: "error",
		check: oneOf("info", "notice", "warn", "error"), Doc: "The level at which refusals are logged."}
}

func quotaDryRun(kind string) Spec {
	return Spec{Name: kind + "_dry_run", Beyond: true, Contexts: httpToLocation, Min: 1, Max: 1, Usage: "on | off", Default: "off", check: checkFlag,
		Doc: "Only counts, logs and sets $" + kind + "_status: nothing is refused. Kinds in dry run are asked about requests that the others let pass, and only charged for those."}
}
