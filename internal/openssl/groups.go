package openssl

import (
	"crypto/tls"
	"fmt"
	"slices"
	"strings"
)

// GroupList is what a list of groups for the key exchange comes to.
type GroupList struct {
	Groups []tls.CurveID // that crypto/tls has; it chooses among them in an order of its own
	Absent []string
}

// groups are the names crypto/tls has something for, in lower case.
func groups() map[string]tls.CurveID {
	return map[string]tls.CurveID{
		"x25519": tls.X25519, "p-256": tls.CurveP256, "prime256v1": tls.CurveP256, "secp256r1": tls.CurveP256, "p-384": tls.CurveP384,
		"secp384r1": tls.CurveP384, "p-521": tls.CurveP521, "secp521r1": tls.CurveP521, "x25519mlkem768": tls.X25519MLKEM768,
		"secp256r1mlkem768": tls.SecP256r1MLKEM768, "secp384r1mlkem1024": tls.SecP384r1MLKEM1024,
	}
}

// absentGroups are the other names of OpenSSL, in lower case.
func absentGroups() []string {
	return strings.Fields("x448 p-192 p-224 b-163 b-233 b-283 b-409 b-571 k-163 k-233 k-283 k-409 k-571 " +
		"sect163k1 sect163r1 sect163r2 sect193r1 sect193r2 sect233k1 sect233r1 sect239k1 sect283k1 sect283r1 sect409k1 sect409r1 " +
		"sect571k1 sect571r1 secp160k1 secp160r1 secp160r2 secp192k1 secp192r1 prime192v1 secp224k1 secp224r1 secp256k1 " +
		"brainpoolp256r1 brainpoolp384r1 brainpoolp512r1 brainpoolp256r1tls13 brainpoolp384r1tls13 brainpoolp512r1tls13 " +
		"ffdhe2048 ffdhe3072 ffdhe4096 ffdhe6144 ffdhe8192 mlkem512 mlkem768 mlkem1024")
}

// GroupUnknown is OpenSSL's word for a group that does not exist.
func GroupUnknown(name string) string {
	return "error:0A080106:SSL routines::passed invalid argument:group '" + name + "' cannot be set"
}

// ParseGroups reads a list of groups separated by colons. unknown is the name that OpenSSL does not know; one that comes
// twice is refused without a word.
func ParseGroups(text string) (list GroupList, unknown string, ok bool) {
	known, absent := groups(), absentGroups()
	seen := map[string]bool{}
	for name := range strings.SplitSeq(text, ":") {
		low := strings.ToLower(name)
		id, here := known[low]
		switch {
		case here:
			if slices.Contains(list.Groups, id) {
				return list, "", false
			}
			list.Groups = append(list.Groups, id)
		case !slices.Contains(absent, low):
			return list, name, false
		case seen[low]:
			return list, "", false
		default:
			seen[low] = true
			list.Absent = append(list.Absent, name)
		}
	}
	return list, "", true
}

// OfferedGroup returns the name of a group that a client offered, as $ssl_curves has it: by number where OpenSSL has none for it.
func OfferedGroup(id tls.CurveID) string {
	switch id {
	case tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521:
		return GroupName(id)
	}
	if name := otherGroups()[id]; name != "" {
		return name
	}
	return fmt.Sprintf("0x%04x", uint16(id))
}

// otherGroups are names of groups that crypto/tls does not have.
func otherGroups() map[tls.CurveID]string {
	return map[tls.CurveID]string{
		1: "sect163k1", 2: "sect163r1", 3: "sect163r2", 4: "sect193r1", 5: "sect193r2", 6: "sect233k1", 7: "sect233r1", 8: "sect239k1",
		9: "sect283k1", 10: "sect283r1", 11: "sect409k1", 12: "sect409r1", 13: "sect571k1", 14: "sect571r1", 15: "secp160k1", 16: "secp160r1",
		17: "secp160r2", 18: "secp192k1", 19: "prime192v1", 20: "secp224k1", 21: "secp224r1", 22: "secp256k1", 26: "brainpoolP256r1",
		27: "brainpoolP384r1", 28: "brainpoolP512r1", 30: "X448", 0x100: "ffdhe2048", 0x101: "ffdhe3072", 0x102: "ffdhe4096",
		0x103: "ffdhe6144", 0x104: "ffdhe8192",
	}
}

// GroupName returns the name of a group as $ssl_curve has it.
func GroupName(id tls.CurveID) string {
	switch id {
	case 0:
		return ""
	case tls.CurveP256:
		return "prime256v1"
	case tls.CurveP384:
		return "secp384r1"
	case tls.CurveP521:
		return "secp521r1"
	}
	return id.String()
}
