package vars

import (
	"net/netip"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/request"
	"github.com/limitgate/limitgate/internal/trust"
)

// geo is a compiled geo block.
type geo struct {
	source    Variable // of the address; nil: the client's
	proxies   *trust.Nets
	recursive bool
	table     *networks
}

// eval is an evaluator. An address that is missing or no address is looked up as 255.255.255.255.
func (g *geo) eval(r *request.Request, dst []byte) (out, lasting []byte) {
	a := r.ClientAddr.Addr()
	if g.source != nil {
		n := len(dst)
		text, found := g.source(r, dst)
		dst = text[:n]
		var ok bool
		if a, ok = trust.ParseAddr(text[n:]); !found || !ok {
			return dst, g.table.find(netip.Addr{})
		}
	}
	if g.proxies != nil {
		c, _ := r.Forwarded(g.proxies, netip.AddrPortFrom(a, 0), g.recursive)
		a = c.Addr()
	}
	return dst, g.table.find(a)
}

// geoRows reads the rows of a geo block.
type geoRows struct {
	errs      *conf.Errors
	volatile  bool
	recursive bool
	proxies   []netip.Prefix
	prefixes  *prefixes
	ranges    *ranges // nil unless in ranges mode
	fallback  *string // of ranges mode
}

// compileGeo compiles the block of a geo directive. Rows that are wrong are reported and left out.
func (t *Table) compileGeo(d *conf.Directive, def *definition, errs *conf.Errors) {
	g := &geo{}
	if len(d.Args) == 2 {
		v, err := t.Lookup(strings.TrimPrefix(d.Arg(0), "$"))
		if err != nil {
			Report(errs, d.At(0), err)
			return
		}
		g.source = v
	}
	rows := &geoRows{errs: errs, prefixes: newPrefixes()}
	for _, row := range d.Block.Directives {
		rows.read(row)
	}
	if len(rows.proxies) > 0 {
		g.proxies = trust.NewNets(rows.proxies, false)
	}
	g.recursive = rows.recursive
	g.table = rows.table()
	def.eval, def.volatile = g.eval, rows.volatile
}

func (g *geoRows) table() *networks {
	if g.ranges == nil {
		return g.prefixes.networks()
	}
	fallback := ""
	if g.fallback != nil {
		fallback = *g.fallback
	}
	return g.ranges.networks(fallback)
}

func (g *geoRows) read(row *conf.Directive) {
	switch len(row.Args) {
	case 0:
		g.word(row)
		return
	case 1:
	default:
		g.errs.Add(row.Pos, "invalid number of the geo parameters", "a row is NETWORK VALUE; quote what has blanks")
		return
	}
	switch {
	case row.Name == "proxy":
		if n, ok := g.network(row.Arg(0), row.At(0)); ok {
			g.proxies = append(g.proxies, n)
		}
	case g.ranges != nil:
		g.rangeRow(row)
	default:
		g.networkRow(row)
	}
}

func (g *geoRows) word(row *conf.Directive) {
	switch row.Name {
	case "ranges":
		if len(g.prefixes.v4)+len(g.prefixes.v6) > 0 {
			g.errs.Add(row.Pos, `the "ranges" directive must be the first directive inside "geo" block`, "")
			return
		}
		g.ranges = &ranges{blocks: map[uint32][]span{}}
	case "proxy_recursive":
		g.recursive = true
	case "volatile":
		g.volatile = true
	default:
		g.errs.Add(row.Pos, "invalid number of the geo parameters", "a row is NETWORK VALUE; quote what has blanks")
	}
}

// network reads ADDRESS or ADDRESS/BITS; only here 255.255.255.255 is an address.
func (g *geoRows) network(text string, at conf.Pos) (netip.Prefix, bool) {
	if text == "255.255.255.255" {
		return netip.MustParsePrefix("255.255.255.255/32"), true
	}
	n, lowBits, ok := conf.ParseNetwork(text)
	switch {
	case !ok:
		g.errs.Add(at, `invalid network "`+text+`"`, "a network is ADDRESS or ADDRESS/BITS")
	case lowBits:
		g.errs.Note(at, "low address bits of "+text+" are meaningless", "")
	}
	return n, ok
}

func (g *geoRows) networkRow(row *conf.Directive) {
	switch row.Name {
	case "default":
		g.add(row, netip.PrefixFrom(netip.IPv4Unspecified(), 0), "default")
		g.add(row, netip.PrefixFrom(netip.IPv6Unspecified(), 0), "default")
	case "delete":
		if n, ok := g.network(row.Arg(0), row.At(0)); ok && !g.prefixes.remove(n) {
			g.errs.Note(row.At(0), `no network "`+row.Arg(0)+`" to delete`, "")
		}
	default:
		if n, ok := g.network(row.Name, row.Pos); ok {
			g.add(row, n, row.Name)
		}
	}
}

func (g *geoRows) add(row *conf.Directive, n netip.Prefix, text string) {
	value := row.Arg(0)
	if old, had := g.prefixes.add(n, value); had {
		g.errs.Note(row.Pos, `duplicate network "`+text+`", value: "`+value+`", old value: "`+old+`"`, "the last one counts")
	}
}

func (g *geoRows) rangeRow(row *conf.Directive) {
	value := row.Arg(0)
	if row.Name == "default" {
		if g.fallback != nil {
			g.errs.Note(row.Pos, `duplicate default geo range value: "`+value+`", old value: "`+*g.fallback+`"`, "the last one counts")
		}
		g.fallback = &value
		return
	}
	text, at := row.Name, row.Pos
	if row.Name == "delete" {
		text, at = row.Arg(0), row.At(0)
	}
	first, last, ok := parseRange(text)
	if !ok {
		g.errs.Add(at, `invalid range "`+text+`"`, "a range is ADDRESS-ADDRESS, the lower one first")
		return
	}
	if row.Name == "delete" {
		if !g.ranges.remove(first, last) {
			g.errs.Note(at, `no address range "`+text+`" to delete`, "")
		}
		return
	}
	old, had, fault := g.ranges.add(text, first, last, value)
	if had {
		g.errs.Note(at, `duplicate range "`+text+`", value: "`+value+`", old value: "`+old+`"`, "the last one counts")
	}
	if fault != "" {
		g.errs.Add(at, fault, "a later range may only lie inside an earlier one")
	}
}

// parseRange reads ADDRESS-ADDRESS; nginx has IPv4 ranges only, and 255.255.255.255 can't be an end.
func parseRange(text string) (first, last uint32, ok bool) {
	low, high, found := strings.Cut(text, "-")
	a, aOK := trust.ParseAddr([]byte(low))
	b, bOK := trust.ParseAddr([]byte(high))
	if !found || !aOK || !bOK || !a.Is4() || !b.Is4() || b.Less(a) {
		return 0, 0, false
	}
	return wordOf(a), wordOf(b), true
}
