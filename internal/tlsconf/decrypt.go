package tlsconf

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/des"
	"crypto/pbkdf2"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"hash"
)

// encrypted reports whether a key needs a password.
func encrypted(b *pem.Block) bool {
	return b.Type == "ENCRYPTED PRIVATE KEY" || b.Headers["DEK-Info"] != ""
}

// decrypt opens a key with the first password that fits, and returns it with the type it has then; nil if none does.
func decrypt(b *pem.Block, passwords []string) (der []byte, kind string) {
	for _, p := range passwords {
		if b.Type != "ENCRYPTED PRIVATE KEY" {
			//lint:ignore SA1019 The format is weak, and what old keys are in.
			der, err := x509.DecryptPEMBlock(b, []byte(p))
			if err == nil && parseKey(b.Type, der) != nil {
				return der, b.Type
			}
			continue
		}
		if der := decryptPKCS8(b.Bytes, p); der != nil && parseKey("PRIVATE KEY", der) != nil {
			return der, "PRIVATE KEY"
		}
	}
	return nil, ""
}

// The structures of RFC 5958 and RFC 8018 (PBES2, PBKDF2).
type (
	encryptedKey struct {
		Algorithm pkix.AlgorithmIdentifier
		Data      []byte
	}
	pbes2Params struct {
		KDF    pkix.AlgorithmIdentifier
		Cipher pkix.AlgorithmIdentifier
	}
	pbkdf2Params struct {
		Salt       []byte
		Iterations int
		KeyLength  int                      `asn1:"optional"`
		PRF        pkix.AlgorithmIdentifier `asn1:"optional"`
	}
)

// maxIterations bounds the work that a broken file may ask for.
const maxIterations = 10_000_000

// decryptPKCS8 opens an encrypted PKCS #8 key as OpenSSL writes them: PBES2 with PBKDF2 and a block cipher. It returns nil
// where that is not possible.
func decryptPKCS8(der []byte, password string) []byte {
	var key encryptedKey
	var params pbes2Params
	var kdf pbkdf2Params
	if !parse(der, &key) || key.Algorithm.Algorithm.String() != "1.2.840.113549.1.5.13" ||
		!parse(key.Algorithm.Parameters.FullBytes, &params) || params.KDF.Algorithm.String() != "1.2.840.113549.1.5.12" ||
		!parse(params.KDF.Parameters.FullBytes, &kdf) || kdf.Iterations < 1 || kdf.Iterations > maxIterations {
		return nil
	}
	newHash := prf(kdf.PRF.Algorithm)
	size, newCipher := blockCipher(params.Cipher.Algorithm)
	var iv []byte
	if newHash == nil || newCipher == nil || !parse(params.Cipher.Parameters.FullBytes, &iv) {
		return nil
	}
	secret, err := pbkdf2.Key(newHash, password, kdf.Salt, kdf.Iterations, size)
	if err != nil {
		return nil
	}
	block, err := newCipher(secret)
	n := len(key.Data)
	if err != nil || len(iv) != block.BlockSize() || n == 0 || n%block.BlockSize() != 0 {
		return nil
	}
	plain := make([]byte, n)
	cipher.NewCBCDecrypter(block, iv).CryptBlocks(plain, key.Data)
	padding := int(plain[n-1])
	if padding < 1 || padding > block.BlockSize() {
		return nil
	}
	for _, b := range plain[n-padding:] {
		if int(b) != padding {
			return nil
		}
	}
	return plain[:n-padding]
}

func parse(der []byte, into any) bool {
	rest, err := asn1.Unmarshal(der, into)
	return err == nil && len(rest) == 0
}

// prf returns the hash of a pseudo-random function, HMAC with SHA-1 where none is named.
func prf(id asn1.ObjectIdentifier) func() hash.Hash {
	switch id.String() {
	case "", "1.2.840.113549.2.7":
		return sha1.New
	case "1.2.840.113549.2.9":
		return sha256.New
	case "1.2.840.113549.2.10":
		return sha512.New384
	case "1.2.840.113549.2.11":
		return sha512.New
	}
	return nil
}

// blockCipher returns the length of a cipher's key and how the cipher is made.
func blockCipher(id asn1.ObjectIdentifier) (size int, make func([]byte) (cipher.Block, error)) {
	switch id.String() {
	case "2.16.840.1.101.3.4.1.2":
		return 16, aes.NewCipher
	case "2.16.840.1.101.3.4.1.22":
		return 24, aes.NewCipher
	case "2.16.840.1.101.3.4.1.42":
		return 32, aes.NewCipher
	case "1.2.840.113549.3.7":
		return 24, des.NewTripleDESCipher
	}
	return 0, nil
}
