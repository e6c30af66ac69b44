package openssl

import (
	"slices"
	"strings"
)

// CipherList is what a string of ciphers comes to.
type CipherList struct {
	Suites []uint16 // that crypto/tls has; it chooses among them in an order of its own
	Absent []string // suites and classes that the string names, and of which crypto/tls has nothing
}

// The ways in which a string of ciphers is wrong, in OpenSSL's words.
const (
	NoCipherMatch  = "error:0A0000B9:SSL routines::no cipher match"
	InvalidCommand = "error:0A000118:SSL routines::invalid command"
)

// ParseCiphers reads a string of ciphers: names and classes, joined by + where all must fit, behind ! (never), - (not so
// far) or + (later, which means nothing here), separated by colons, commas, semicolons or blanks. Words that OpenSSL does
// not know are passed over, as there. fault is OpenSSL's word where it would refuse the string.
func ParseCiphers(text string) (list CipherList, fault string) {
	p := cipherParser{all: ciphers[:]}
	p.state = make([]cipherState, len(p.all))
	if rest, found := strings.CutPrefix(text, "DEFAULT"); found {
		p.apply(0, p.choose("ALL"))
		p.apply('!', p.choose("COMPLEMENTOFDEFAULT"))
		p.apply('!', p.choose("eNULL"))
		text = rest
	}
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(":,; ", r) }) {
		if fault := p.word(word); fault != "" {
			return list, fault
		}
	}
	chosen := false
	for i, s := range p.state {
		if s != active || !p.allowed(&p.all[i]) {
			continue
		}
		chosen = true
		if p.all[i].id != 0 {
			list.Suites = append(list.Suites, p.all[i].id)
		}
	}
	if !chosen {
		return list, NoCipherMatch
	}
	list.Absent = p.absent
	return list, ""
}

type cipherState uint8

const (
	inactive cipherState = iota
	active
	killed
)

type cipherParser struct {
	all    []cipher
	state  []cipherState
	level  int // of @SECLEVEL
	absent []string
}

// word acts on one word.
func (p *cipherParser) word(word string) (fault string) {
	var op byte
	if strings.IndexByte("!-+@", word[0]) >= 0 {
		op, word = word[0], word[1:]
	}
	if op == '@' {
		return p.command(word)
	}
	found := p.choose(word)
	if op == 0 && len(found) > 0 && !slices.ContainsFunc(found, func(i int) bool { return p.all[i].id != 0 }) {
		p.absent = append(p.absent, word)
	}
	p.apply(op, found)
	return ""
}

func (p *cipherParser) command(word string) (fault string) {
	level, isLevel := strings.CutPrefix(word, "SECLEVEL=")
	switch {
	case word == "STRENGTH": // an order
	case isLevel && len(level) == 1 && level[0] >= '0' && level[0] <= '5':
		p.level = int(level[0] - '0')
	default:
		return InvalidCommand
	}
	return ""
}

// allowed reports whether a level of security leaves a suite.
func (p *cipherParser) allowed(c *cipher) bool {
	need := [...]int{0, 80, 112, 128, 192, 256}[p.level]
	return p.level == 0 || c.bits >= need && (p.level < 3 || c.kx == "ECDH" || c.kx == "DH")
}

func (p *cipherParser) apply(op byte, which []int) {
	for _, i := range which {
		switch {
		case op == '!':
			p.state[i] = killed
		case op == '-' && p.state[i] == active:
			p.state[i] = inactive
		case op == 0 && p.state[i] == inactive:
			p.state[i] = active
		}
	}
}

// choose returns the suites that all parts of a word fit; none where a part is not known.
func (p *cipherParser) choose(word string) (which []int) {
	classes := cipherClasses()
	parts := strings.Split(word, "+")
	for i := range p.all {
		c := &p.all[i]
		fits := true
		for _, part := range parts {
			class := classes[part]
			fits = fits && (c.name == part || class != nil && class(c))
		}
		if fits {
			which = append(which, i)
		}
	}
	return which
}

// cipherClasses returns the words that stand for many suites (cipher_aliases in OpenSSL).
func cipherClasses() map[string]func(*cipher) bool {
	kx := func(words ...string) func(*cipher) bool {
		return func(c *cipher) bool { return slices.Contains(words, c.kx) }
	}
	au := func(word string) func(*cipher) bool { return func(c *cipher) bool { return c.au == word } }
	enc := func(prefix string, bits int) func(*cipher) bool {
		return func(c *cipher) bool { return strings.HasPrefix(c.enc, prefix) && (bits == 0 || c.bits == bits) }
	}
	mac := func(word string) func(*cipher) bool { return func(c *cipher) bool { return c.mac == word } }
	version := func(word string) func(*cipher) bool { return func(c *cipher) bool { return c.version == word } }
	and := func(a, b func(*cipher) bool) func(*cipher) bool { return func(c *cipher) bool { return a(c) && b(c) } }
	not := func(a func(*cipher) bool) func(*cipher) bool { return func(c *cipher) bool { return !a(c) } }
	null, anonymous := enc("None", 0), au("None")
	odd := func(c *cipher) bool { // not among the default ones
		return c.au == "None" || c.enc == "None" || strings.HasPrefix(c.enc, "Camellia") || strings.HasPrefix(c.enc, "ARIA") ||
			strings.HasPrefix(c.enc, "AESCCM")
	}
	return map[string]func(*cipher) bool{
		"ALL": not(null), "COMPLEMENTOFALL": null, "COMPLEMENTOFDEFAULT": odd, "HIGH": not(null),
		"kRSA": kx("RSA"), "kDHE": kx("DH"), "kEDH": kx("DH"), "DH": kx("DH"), "kECDHE": kx("ECDH"), "kEECDH": kx("ECDH"), "ECDH": kx("ECDH"),
		"kPSK": kx("PSK"), "kRSAPSK": kx("RSAPSK"), "kDHEPSK": kx("DHEPSK"), "kECDHEPSK": kx("ECDHEPSK"), "kSRP": kx("SRP"), "SRP": kx("SRP"),
		"PSK": kx("PSK", "RSAPSK", "DHEPSK", "ECDHEPSK"), "aRSA": au("RSA"), "aDSS": au("DSS"), "DSS": au("DSS"), "aNULL": anonymous,
		"aECDSA": au("ECDSA"), "ECDSA": au("ECDSA"), "aPSK": au("PSK"), "aSRP": au("SRP"), "RSA": and(kx("RSA"), au("RSA")),
		"EDH": and(kx("DH"), not(anonymous)), "DHE": and(kx("DH"), not(anonymous)), "EECDH": and(kx("ECDH"), not(anonymous)),
		"ECDHE": and(kx("ECDH"), not(anonymous)), "ADH": and(kx("DH"), anonymous), "AECDH": and(kx("ECDH"), anonymous),
		"eNULL": null, "NULL": null, "AES": enc("AES", 0), "AES128": enc("AES", 128), "AES256": enc("AES", 256), "AESGCM": enc("AESGCM", 0),
		"AESCCM": enc("AESCCM", 0), "AESCCM8": enc("AESCCM8", 0), "CAMELLIA": enc("Camellia", 0), "CAMELLIA128": enc("Camellia", 128),
		"CAMELLIA256": enc("Camellia", 256), "ARIA": enc("ARIA", 0), "ARIAGCM": enc("ARIA", 0), "ARIA128": enc("ARIA", 128),
		"ARIA256": enc("ARIA", 256), "CHACHA20": enc("CHACHA20", 0), "MD5": mac("MD5"), "SHA1": mac("SHA1"), "SHA": mac("SHA1"),
		"SHA256": mac("SHA256"), "SHA384": mac("SHA384"), "SSLv3": version("SSLv3"), "TLSv1": version("TLSv1"), "TLSv1.0": version("TLSv1"),
		"TLSv1.2": version("TLSv1.2"),
	}
}
