package dns

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// Bounds of what an answer may make us do.
const (
	mostAliases   = 16  // of one name, over all questions
	mostAddresses = 128 // of one name and kind; what is beyond is left out
	mostTTL       = 7 * 24 * time.Hour
)

// question is what is asked once.
type question struct {
	id   uint16
	name dnsmessage.Name // in lower case, with the point at its end
	kind dnsmessage.Type // A or AAAA
}

// newName returns a name as it is asked for: in lower case, a point at its end. Names that no question can hold are refused.
func newName(name string) (dnsmessage.Name, bool) {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return dnsmessage.Name{}, false
		}
	}
	n, err := dnsmessage.NewName(name + ".")
	return n, err == nil && len(name) <= 253
}

// pack returns the message of a question.
func (q question) pack() ([]byte, error) {
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{ID: q.id, RecursionDesired: true},
		Questions: []dnsmessage.Question{{Name: q.name, Type: q.kind, Class: dnsmessage.ClassINET}},
	}
	return m.Pack()
}

// reply is what an answer says.
type reply struct {
	code  dnsmessage.RCode
	cut   bool // it did not fit
	addrs []netip.Addr
	ttl   time.Duration   // of the shortest-lived record on the way to addrs or alias
	alias dnsmessage.Name // where the way ended without an address; the name that was asked for if there is none
	hops  int             // of the way
}

// errForeign is what read returns for a message that is not the answer to the question, or makes no sense.
var errForeign = errors.New("no answer to the question")

// read reads the answer to a question.
func (q question) read(msg []byte) (reply, error) {
	var p dnsmessage.Parser
	h, err := p.Start(msg)
	if err != nil || h.ID != q.id || !h.Response || h.OpCode != 0 {
		return reply{}, errForeign
	}
	asked, err := p.Question()
	if err != nil || asked.Type != q.kind || asked.Class != dnsmessage.ClassINET || !same(asked.Name, q.name) {
		return reply{}, errForeign
	}
	if err := p.SkipAllQuestions(); err != nil {
		return reply{}, errForeign
	}
	r := reply{code: h.RCode, cut: h.Truncated, alias: q.name}
	if r.code != dnsmessage.RCodeSuccess || r.cut {
		return r, nil
	}
	records, err := collect(&p, q.kind)
	if err != nil {
		return reply{}, errForeign
	}
	r.follow(records)
	return r, nil
}

// record is one of an answer: an address, or another name.
type record struct {
	owner dnsmessage.Name
	addr  netip.Addr // invalid: alias
	alias dnsmessage.Name
	ttl   time.Duration
}

// collect reads the records that matter.
func collect(p *dnsmessage.Parser, kind dnsmessage.Type) (list []record, err error) {
	for {
		h, err := p.AnswerHeader()
		if errors.Is(err, dnsmessage.ErrSectionDone) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		r := record{owner: h.Name, ttl: min(time.Duration(h.TTL)*time.Second, mostTTL)}
		switch {
		case h.Class == dnsmessage.ClassINET && h.Type == dnsmessage.TypeCNAME:
			var body dnsmessage.CNAMEResource
			body, err = p.CNAMEResource()
			r.alias = body.CNAME
		case h.Class == dnsmessage.ClassINET && h.Type == kind && kind == dnsmessage.TypeA:
			var body dnsmessage.AResource
			body, err = p.AResource()
			r.addr = netip.AddrFrom4(body.A)
		case h.Class == dnsmessage.ClassINET && h.Type == kind:
			var body dnsmessage.AAAAResource
			body, err = p.AAAAResource()
			r.addr = netip.AddrFrom16(body.AAAA)
		default:
			if err := p.SkipAnswer(); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if len(list) < mostAddresses+mostAliases {
			list = append(list, r)
		}
	}
}

// follow goes from the name that was asked for, from alias to alias, to addresses. Records of other names are nobody's.
func (r *reply) follow(records []record) {
	r.ttl = mostTTL
	for ; r.hops <= mostAliases; r.hops++ {
		var next *record
		for i := range records {
			switch rec := &records[i]; {
			case !same(rec.owner, r.alias):
			case !rec.addr.IsValid():
				next = rec
			case len(r.addrs) < mostAddresses && !slices.Contains(r.addrs, rec.addr):
				r.addrs = append(r.addrs, rec.addr)
				r.ttl = min(r.ttl, rec.ttl)
			}
		}
		if len(r.addrs) > 0 || next == nil {
			return
		}
		r.ttl = min(r.ttl, next.ttl)
		r.alias = next.alias
	}
}

func same(a, b dnsmessage.Name) bool { return strings.EqualFold(a.String(), b.String()) }
