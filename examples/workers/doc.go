// Package workers shows limitgate.Limiter.Wait as the pacer of workers that read from a queue: a NATS consumer that shares a rate between
// tenants, and a Kafka consumer that keeps to the rate of what it writes to. The loops stand behind small interfaces of the shape that the
// clients' types have, so that they run here without a broker; in a program the client's own value is handed in.
package workers
