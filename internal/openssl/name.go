package openssl

import (
	"encoding/asn1"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

// attributeSET is one relative name; encoding/asn1 knows a SET by the end of its type's name.
type attributeSET []attribute

// maxName bounds a name that is printed.
const maxName = 16 << 10

func readName(der []byte) (name []attributeSET, ok bool) {
	if len(der) > maxName {
		return nil, false
	}
	rest, err := asn1.Unmarshal(der, &name)
	return name, err == nil && len(rest) == 0
}

// Name returns a distinguished name as RFC 2253 writes it, the last part first (X509_NAME_print_ex with XN_FLAG_RFC2253);
// "" for what is none.
func Name(der []byte) string {
	name, ok := readName(der)
	if !ok {
		return ""
	}
	var b []byte
	for i := len(name) - 1; i >= 0; i-- {
		for k := len(name[i]) - 1; k >= 0; k-- {
			a := &name[i][k]
			switch {
			case k < len(name[i])-1:
				b = append(b, '+')
			case len(b) > 0:
				b = append(b, ',')
			}
			short := attributeName(a.Type)
			if short == "" {
				b = appendDER(append(append(b, a.Type.String()...), '='), a.Value.FullBytes)
				continue
			}
			if b, ok = appendValue(append(append(b, short...), '='), &a.Value); !ok {
				return ""
			}
		}
	}
	return string(b)
}

// LegacyName returns a distinguished name with a slash before each part (X509_NAME_oneline); "" for what is none.
func LegacyName(der []byte) string {
	name, ok := readName(der)
	if !ok {
		return ""
	}
	var b []byte
	for _, set := range name {
		for i := range set {
			short := attributeName(set[i].Type)
			if short == "" {
				short = set[i].Type.String()
			}
			between := byte('/')
			if i > 0 {
				between = '+'
			}
			b = append(append(append(b, between), short...), '=')
			value := set[i].Value.Bytes
			if set[i].Value.Tag == asn1.TagBitString && len(value) > 0 {
				value = value[1:] // how many bits of the last byte are none
			}
			for _, c := range value {
				switch {
				case c < ' ' || c > '~':
					b = append(b, '\\', 'x', upperHex[c>>4], upperHex[c&15])
				case c == '/' || c == '+':
					b = append(b, '\\', c)
				default:
					b = append(b, c)
				}
			}
		}
	}
	return string(b)
}

const upperHex = "0123456789ABCDEF"

func appendDER(dst, der []byte) []byte {
	return append(append(dst, '#'), strings.ToUpper(hex.EncodeToString(der))...)
}

// appendValue writes the text of a value, escaped; what is no text is written in hexadecimal digits.
func appendValue(dst []byte, v *asn1.RawValue) ([]byte, bool) {
	if v.Class != asn1.ClassUniversal || v.IsCompound {
		return appendDER(dst, v.FullBytes), true
	}
	width := 1
	switch v.Tag {
	case asn1.TagUTF8String:
		width = 0
	case asn1.TagNumericString, asn1.TagPrintableString, asn1.TagT61String, asn1.TagIA5String, asn1.TagUTCTime, asn1.TagGeneralizedTime, tagVisible:
	case asn1.TagBMPString:
		width = 2
	case tagUniversal:
		width = 4
	default:
		return appendDER(dst, v.FullBytes), true
	}
	if width > 1 && len(v.Bytes)%width != 0 {
		return dst, false
	}
	text := v.Bytes
	if width > 0 {
		text = nil
		for b := v.Bytes; len(b) > 0; b = b[width:] {
			var c rune
			for _, d := range b[:width] {
				c = c<<8 | rune(d)
			}
			text = utf8.AppendRune(text, c)
		}
	}
	for i, c := range text {
		dst = appendEscaped(dst, c, i == 0, i == len(text)-1)
	}
	return dst, true
}

// The tags that encoding/asn1 has no name for.
const (
	tagVisible   = 26
	tagUniversal = 28
)

// appendEscaped writes a byte of a value as RFC 2253 and OpenSSL's flags for it want it.
func appendEscaped(dst []byte, c byte, first, last bool) []byte {
	switch {
	case c < ' ' || c >= 0x7f:
		return append(dst, '\\', upperHex[c>>4], upperHex[c&15])
	case strings.IndexByte(`,+"\<>;`, c) >= 0, c == ' ' && (first || last), c == '#' && first && !last:
		return append(dst, '\\', c)
	}
	return append(dst, c)
}

// attributeName returns OpenSSL's short name of an attribute; "" for one that has none there.
func attributeName(id asn1.ObjectIdentifier) string {
	n := len(id)
	if n == 0 {
		return ""
	}
	last := id[n-1]
	switch {
	case id[:n-1].Equal(asn1.ObjectIdentifier{2, 5, 4}):
		return x500Names()[last]
	case id[:n-1].Equal(asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1}):
		return pilotNames()[last]
	case id[:n-1].Equal(asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9}):
		return map[int]string{1: "emailAddress", 2: "unstructuredName", 7: "challengePassword", 8: "unstructuredAddress"}[last]
	case id[:n-1].Equal(asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 311, 60, 2, 1}):
		return map[int]string{1: "jurisdictionL", 2: "jurisdictionST", 3: "jurisdictionC"}[last]
	}
	return ""
}

// x500Names are attributes below 2.5.4.
func x500Names() map[int]string {
	return map[int]string{
		3: "CN", 4: "SN", 5: "serialNumber", 6: "C", 7: "L", 8: "ST", 9: "street", 10: "O", 11: "OU", 12: "title", 13: "description",
		14: "searchGuide", 15: "businessCategory", 16: "postalAddress", 17: "postalCode", 18: "postOfficeBox",
		19: "physicalDeliveryOfficeName", 20: "telephoneNumber", 21: "telexNumber", 22: "teletexTerminalIdentifier",
		23: "facsimileTelephoneNumber", 24: "x121Address", 25: "internationaliSDNNumber", 26: "registeredAddress",
		27: "destinationIndicator", 28: "preferredDeliveryMethod", 29: "presentationAddress", 30: "supportedApplicationContext",
		31: "member", 32: "owner", 33: "roleOccupant", 34: "seeAlso", 41: "name", 42: "GN", 43: "initials", 44: "generationQualifier",
		45: "x500UniqueIdentifier", 46: "dnQualifier", 49: "distinguishedName", 50: "uniqueMember", 51: "houseIdentifier",
		54: "dmdName", 65: "pseudonym", 72: "role", 97: "organizationIdentifier",
	}
}

// pilotNames are attributes below 0.9.2342.19200300.100.1.
func pilotNames() map[int]string {
	return map[int]string{
		1: "UID", 2: "textEncodedORAddress", 3: "mail", 4: "info", 5: "favouriteDrink", 6: "roomNumber", 8: "userClass", 9: "host",
		10: "manager", 20: "homeTelephoneNumber", 21: "secretary", 25: "DC", 37: "associatedDomain", 38: "associatedName",
		39: "homePostalAddress", 40: "personalTitle", 41: "mobileTelephoneNumber", 42: "pagerTelephoneNumber",
		43: "friendlyCountryName", 44: "uid", 45: "organizationalStatus", 48: "buildingName",
	}
}
