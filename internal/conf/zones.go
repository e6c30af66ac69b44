package conf

import "fmt"

// zoneUse is what a zone is for. One name stands for one zone, whatever it is for.
type zoneUse string

const (
	forReq   zoneUse = "limit_req_zone"
	forConn  zoneUse = "limit_conn_zone"
	forCount zoneUse = "limit_count_zone"
	forToken zoneUse = "limit_token_zone"
	forBytes zoneUse = "limit_bandwidth_zone"

	forSessions zoneUse = "ssl_session_cache"
	forUpstream zoneUse = "zone NAME SIZE"
)

// zone is what the directives so far said about one name.
type zone struct {
	use      zoneUse
	name     string
	bytes    int64
	declared *Directive
	first    *Directive   // the first directive that named it
	store    Word         // what it lives in, beyond this process
	failing  []*Directive // limits that say what they do without that
}

// zoneSet holds the zones in the order in which they were first named.
type zoneSet struct {
	byName map[string]*zone
	order  []*zone
}

// named returns the zone of a name, or nil if the name is taken for another use.
func (c *checker) named(d *Directive, name string, use zoneUse) *zone {
	z := c.zones.byName[name]
	if z == nil {
		z = &zone{use: use, name: name, first: d}
		c.zones.byName[name] = z
		c.zones.order = append(c.zones.order, z)
	}
	if z.use != use {
		c.errs.Add(d.Pos, `the shared memory zone "`+name+`" is already declared for a different use`,
			"the other use is at "+z.first.Pos.String())
		return nil
	}
	return z
}

// declare records a zone's declaration.
func (c *checker) declare(d *Directive, size ZoneSize, use zoneUse) {
	z := c.named(d, size.Name, use)
	switch {
	case z == nil:
	case c.sizeConflict(d, z, size.Bytes):
	case z.declared != nil:
		c.errs.Add(d.Pos, string(use)+` "`+size.Name+`" is already bound to key "`+z.declared.Arg(0)+`"`,
			"the first declaration is at "+z.declared.Pos.String())
	default:
		z.bytes, z.declared = size.Bytes, d
	}
}

// sizeConflict reports a zone that was declared with another size before.
func (c *checker) sizeConflict(d *Directive, z *zone, bytes int64) bool {
	if z.bytes == 0 || z.bytes == bytes {
		return false
	}
	c.errs.Add(d.Pos, fmt.Sprintf("the size %d of shared memory zone %q conflicts with already declared size %d", bytes, z.name, z.bytes),
		"the first declaration is at "+z.declared.Pos.String())
	return true
}

// checkReqZone reads a limit_req_zone.
func (c *checker) checkReqZone(d *Directive) {
	if z, ok := ReadLimitReqZone(d, c.errs); ok {
		c.declare(d, z.Zone, forReq)
		c.stored(d, z.Zone.Name, z.Store)
	}
}

// checkConnZone reads a limit_conn_zone.
func (c *checker) checkConnZone(d *Directive) {
	if z, ok := ReadLimitConnZone(d, c.errs); ok {
		c.declare(d, z.Zone, forConn)
		c.stored(d, z.Zone.Name, z.Store)
	}
}

// checkCountZone reads a limit_count_zone.
func (c *checker) checkCountZone(d *Directive) {
	if z, ok := ReadLimitCountZone(d, c.errs); ok {
		c.declare(d, z.Zone, forCount)
		c.stored(d, z.Zone.Name, z.Store)
	}
}

// checkTokenZone reads a limit_token_zone.
func (c *checker) checkTokenZone(d *Directive) {
	if z, ok := ReadLimitTokenZone(d, c.errs); ok {
		c.declare(d, z.Zone, forToken)
		c.stored(d, z.Zone.Name, z.Store)
	}
}

// checkQuota reads a limit_count or limit_token; a scope may have one for each zone.
func (c *checker) checkQuota(d *Directive) {
	l, ok := ReadLimitQuota(d, c.errs)
	if !ok || c.named(d, l.Zone, zoneUse(d.Name+"_zone")) == nil {
		return
	}
	c.failing(d, l.Zone, l.Fail)
	for _, other := range d.Scope.Own(d.Name) {
		if first, ok := ReadLimitQuota(other, &Errors{}); other != d && ok && first.Zone == l.Zone {
			c.twice(d, other)
			return
		}
	}
}

// checkReq reads a limit_req; a scope may have one for each zone.
func (c *checker) checkReq(d *Directive) {
	l, ok := ReadLimitReq(d, c.errs)
	if !ok || c.named(d, l.Zone, forReq) == nil {
		return
	}
	c.failing(d, l.Zone, l.Fail)
	for _, other := range d.Scope.Own(d.Name) {
		if first, ok := ReadLimitReq(other, &Errors{}); other != d && ok && first.Zone == l.Zone {
			c.twice(d, other)
			return
		}
	}
}

// checkConn reads a limit_conn; a scope may have one for each zone.
func (c *checker) checkConn(d *Directive) {
	adaptive := d.Arg(1) == "adaptive"
	if len(d.Args) > 2 && !d.has("fail=") && !d.has("canary=") && !adaptive || len(d.Args) > 4 && !adaptive {
		c.errs.Add(d.Pos, `invalid number of arguments in "`+d.Name+`" directive`, d.usage())
		return
	}
	if c.named(d, d.Arg(0), forConn) == nil {
		return
	}
	for _, other := range d.Scope.Own(d.Name) {
		if other != d && other.Arg(0) == d.Arg(0) {
			c.twice(d, other)
			return
		}
	}
	if l, ok := ReadLimitConn(d, c.errs); ok {
		c.failing(d, l.Zone, l.Fail)
	}
}

func (c *checker) twice(d, first *Directive) {
	c.errs.Add(d.Pos, `"`+d.Name+`" directive is duplicate`, "the same zone is limited at "+first.Pos.String())
}

// undeclaredZones reports zones that are used and not declared. nginx names no line for them.
func (c *checker) undeclaredZones() {
	for _, z := range c.zones.order {
		if z.declared == nil {
			c.errs.Late(AtStart, Pos{}, `zero size shared memory zone "`+z.name+`"`,
				z.first.Name+" at "+z.first.Pos.String()+" names it; declare it with "+string(z.use)+" in http")
		}
	}
}
