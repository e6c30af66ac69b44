package conf

import "strings"

// LimitBandwidthZone is a limit_bandwidth_zone directive.
type LimitBandwidthZone struct {
	Key    Word
	Zone   ZoneSize
	Rate   int64 // bytes a second
	Burst  int64 // bytes
	Reject bool  // overflow=reject
	At     Pos
}

// maxBandwidth is the highest rate, in bytes a second.
const maxBandwidth = 100_000_000_000

// ReadLimitBandwidthZone reads a limit_bandwidth_zone directive.
func ReadLimitBandwidthZone(d *Directive, errs *Errors) (LimitBandwidthZone, bool) {
	z := LimitBandwidthZone{Key: d.Args[0], At: d.Pos}
	p := readZoneParameters(d, errs, &z.Zone, &z.Reject, func(p *parameters, a Word, name, value string) bool {
		switch name {
		case "rate":
			if z.Rate = p.bytes(a, name, value); p.ok && (z.Rate == 0 || z.Rate > maxBandwidth) {
				p.invalid(a, name, "a rate is 1 to 100,000,000,000 bytes a second: rate=100k, rate=2m")
			}
		case "burst":
			if z.Burst = p.bytes(a, name, value); p.ok && z.Burst > maxBandwidth {
				p.invalid(a, name, "a burst is at most 100,000,000,000 bytes")
			}
		case "store":
			p.invalid(a, name, "bytes are paced by each instance for itself: divide the rate by the number of instances, or limit requests in the store")
		default:
			return false
		}
		return true
	})
	p.need("rate", "rate=BYTES, the bytes a second of all answers of a key, for example rate=100k")
	return z, p.ok
}

func (p *parameters) bytes(a Word, name, value string) int64 {
	n, ok := ParseSize(value)
	if !ok {
		p.invalid(a, name, "it is a number of bytes, k or m may stand behind it: "+name+"=100k")
	}
	return n
}

// ReadLimitBandwidth reads a limit_bandwidth directive; the name is empty where it is off.
func ReadLimitBandwidth(d *Directive, errs *Errors) (zone string, ok bool) {
	if d.Arg(0) == "off" {
		return "", true
	}
	zone, ok = strings.CutPrefix(d.Arg(0), "zone=")
	if !ok || zone == "" {
		badParameter(d, d.Args[0], errs)
		return "", false
	}
	return zone, true
}

// checkBandwidthZone reads a limit_bandwidth_zone.
func (c *checker) checkBandwidthZone(d *Directive) {
	if z, ok := ReadLimitBandwidthZone(d, c.errs); ok {
		c.declare(d, z.Zone, forBytes)
	}
}

// checkBandwidth reads a limit_bandwidth.
func (c *checker) checkBandwidth(d *Directive) {
	if zone, ok := ReadLimitBandwidth(d, c.errs); ok && zone != "" {
		c.named(d, zone, forBytes)
	}
}
