package conf

// rolloutSpecs holds how limits are switched on step by step.
func rolloutSpecs() []Spec {
	return []Spec{
		{Name: "limit_rollout", Beyond: true, Contexts: HTTP, Min: 1, Max: 1, Opens: Rollout, Merge: Own, Repeat: true, Usage: "NAME", check: checkRollout,
			Doc: "Switches the limits of some zones on step by step: each step enforces them for a part of the keys, and the others are in dry run, as with canary= of limit_req. " +
				"It advances by itself, and goes back to dry run when a stop condition holds; then it stays there until limitgate rollout advance. The block needs zones and steps. " +
				"Where it is survives reloads and restarts: see limit_rollout_state. A limit_*_dry_run comes before a rollout, and a rollout before canary=. simulate and replay take its limits as fully enforced. " +
				"Each instance rolls out on its own, with the same keys at each step. docs/rollout.md tells the way."},
		{Name: "zones", Beyond: true, Contexts: Rollout, Min: 1, Max: Any, Merge: Own, Repeat: true, Usage: "NAME…",
			Doc: "The zones of limit_req, limit_conn, limit_count and limit_token that are rolled out together. A zone is in one rollout."},
		{Name: "steps", Beyond: true, Contexts: Rollout, Min: 1, Max: Any, Merge: Own, Usage: "PERCENT…",
			Doc: "The parts of the keys that are enforced, one after the other: 1% 5% 25% 100%. With 0% in front it watches first. When the steps change on a reload, " +
				"the rollout stands at the one that is nearest to the present percentage and not above it; where all are above it is in dry run and goes to the first after the interval."},
		{Name: "interval", Beyond: true, Contexts: Rollout, Min: 1, Max: 1, Merge: Own, Usage: "TIME", Default: "10m", check: checkMillis,
			Doc: "How long each step is watched at least, up to 30d and not shorter than the window. A process that is started anew watches its step for the whole time."},
		{Name: "window", Beyond: true, Contexts: Rollout, Min: 1, Max: 1, Merge: Own, Usage: "TIME", Default: "1m", check: checkMillis,
			Doc: "The time over which stop conditions are judged, 100ms to 1h. It is empty when a step begins."},
		{Name: "min_requests", Beyond: true, Contexts: Rollout, Min: 1, Max: 1, Merge: Own, Usage: "N", Default: "100", check: numberIn(1, 1_000_000_000),
			Doc: "Fewer requests, or answers, of enforced keys within the window judge no condition, and a step lasts until so many of them were seen (at 0%, of watched keys)."},
		{Name: "stop", Beyond: true, Contexts: Rollout, Min: 1, Max: 3, Merge: Own, Repeat: true, Usage: "rejected_share > PERCENT | 5xx_share > PERCENT | p50 | p90 | p95 | p99 > TIME",
			Doc: "A condition under which everything goes back to dry run. rejected_share is how many requests of enforced keys the rollout's limits refuse. 5xx_share and the times are of the answers to " +
				"requests that no limit refused, from the first byte of the request to the end of the answer, what they waited for a limit included; a time is from 1ms to 1m, and is told up to a sixteenth too long. " +
				"They stop the rollout only if enforced keys are also worse off than those that are watched, by three standard errors, as long as there are min_requests of these: an outage of the backend is not the limit's doing."},
		{Name: "webhook", Beyond: true, Contexts: Rollout, Min: 1, Max: 1, Merge: Own, Usage: "URL",
			Doc: "An address that is told of each event (begun, advanced, completed, stopped, held, resumed, aborted, changed): a POST of JSON over http or https, tried four times within half a minute."},
		{Name: "limit_rollout_state", Beyond: true, Contexts: HTTP, Min: 1, Max: 1, Merge: Own, Usage: "FILE | off", Default: "PID.rollouts beside the pid file",
			Doc: "The file in which rollouts keep where they are, written by the process with mode 0600; relative names belong to the prefix. A pid file in /run is gone after a boot, and so is what is beside it: name a file in /var/lib then. " +
				"With off, or without a pid file, each start begins anew. A file that can't be read is put aside, with .bad behind its name, and its rollouts stay in dry run until limitgate rollout advance."},
	}
}
