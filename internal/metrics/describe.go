package metrics

import "github.com/prometheus/client_golang/prometheus"

// names are all metrics that the gateway has of its own.
type names struct {
	rolloutShare, rolloutPhase, rolloutRequests   *prometheus.Desc
	rolloutRefused, rolloutAnswers, rolloutErrors *prometheus.Desc

	build, started *prometheus.Desc

	connections, accepted, requests, inFlight, responses *prometheus.Desc

	decisions, delay, unsaid, held               *prometheus.Desc
	keys, capacity, evictions, full, overrides   *prometheus.Desc
	storeUp, instances, calls, failures, spared  *prometheus.Desc
	unpaid, latency                              *prometheus.Desc
	leaseCalls, leaseFailed, leaseSpared, leased *prometheus.Desc
	reloads, reloadGood, reloadTime, generations *prometheus.Desc
	findings                                     *prometheus.Desc
	spans, spansWaiting, exports                 *prometheus.Desc
}

func describe() *names {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("limitgate_"+name, help, labels, nil)
	}
	return &names{
		build:   d("build_info", "What the program was built from; always 1.", "version", "revision", "goversion"),
		started: d("start_time_seconds", "When the process began, in seconds since 1970."),

		connections: d("connections", "Connections of clients now: reading a head, writing an answer, or waiting between requests.", "state"),
		accepted:    d("connections_accepted_total", "Connections that were accepted."),
		requests:    d("requests_total", "Requests that came."),
		inFlight:    d("requests_in_flight", "Requests that are being served, delayed ones included."),
		responses:   d("responses_total", "Answers by the first digit of their status; none: the connection was closed without one.", "class"),

		decisions: d("decisions_total", "Decisions of limits by zone and outcome.", "zone", "outcome"),
		delay:     d("delay_seconds", "How long requests were delayed by limits of a zone, or would have been in dry run.", "zone"),
		unsaid:    d("refusals_without_retry_after_total", "Refusals that could not say when to come again.", "zone"),
		held:      d("refusals_held", "Refusals that are held back now (reject_delay)."),

		keys:      d("zone_keys", "Keys that a zone holds, those that owe nothing any more included.", "zone"),
		capacity:  d("zone_capacity_keys", "Keys that a zone can hold.", "zone"),
		evictions: d("zone_evictions_total", "States that gave way to a new key: drained ones, which costs nothing, and hot ones, whose key is let off what it owes.", "zone", "state"),
		full:      d("zone_full_total", "New keys for which a zone had no place.", "zone"),
		overrides: d("overrides", "Keys that have numbers of their own."),

		storeUp:   d("store_up", "Whether the store is asked: 1, or 0 where it does not answer, or only probes are sent.", "store"),
		instances: d("store_instances", "Instances that share the store; 0: not known.", "store"),
		calls:     d("store_calls_total", "Calls to the store.", "store"),
		failures:  d("store_failures_total", "Calls that failed: without an answer in time, or with an error.", "store", "cause"),
		spared:    d("store_calls_spared_total", "Calls that were not made, because the store was down.", "store"),
		unpaid:    d("store_refunds_lost_total", "Charges that were to be given back and never reached the store.", "store"),
		latency:   d("store_latency_seconds", "How long calls to the store took.", "store"),

		leaseCalls:  d("lease_calls_total", "Calls of a zone with mode=lease: for a batch, or for a single request.", "zone", "for"),
		leaseFailed: d("lease_calls_failed_total", "Of these, those without an answer.", "zone"),
		leaseSpared: d("lease_decisions_total", "Decisions from what was borrowed, without a call.", "zone"),
		leased:      d("lease_requests_total", "Requests that were borrowed, and of these those that were returned, and those that nobody used in time.", "zone", "what"),

		reloads:     d("reloads_total", "Configurations that were read anew, by how it went.", "result"),
		reloadGood:  d("last_reload_successful", "Whether the last configuration that was read is the one that runs."),
		reloadTime:  d("last_reload_time_seconds", "When a configuration was read last, in seconds since 1970."),
		generations: d("generations", "Configurations that serve requests: 1, and those before it whose last request goes on."),

		spans:        d("trace_spans_total", "Spans by what became of them: sent, dropped because there was no room, or failed because the collector did not take them.", "result"),
		spansWaiting: d("trace_spans_waiting", "Spans that wait to be sent."),
		exports:      d("trace_exports_total", "Calls to the collector of spans, by how they went.", "result"),

		rolloutShare:    d("rollout_share", "Of which part of the keys the limits of a rollout are enforced, 0 to 1.", "rollout"),
		rolloutPhase:    d("rollout_phase", "Where a rollout is: 1 for its phase, 0 for the others.", "rollout", "phase"),
		rolloutRequests: d("rollout_requests_total", "Requests that the limits of a rollout decided on, by side.", "rollout", "side"),
		rolloutRefused:  d("rollout_refused_total", "Of these, that were refused, or would have been.", "rollout", "side"),
		rolloutAnswers:  d("rollout_answers_total", "Answers to requests of a rollout.", "rollout", "side"),
		rolloutErrors:   d("rollout_errors_total", "Of these, with a status of 500 or above.", "rollout", "side"),

		findings: d("findings", "What the limiter finds wrong with itself now, by kind; the error log has the words.", "kind"),
	}
}
