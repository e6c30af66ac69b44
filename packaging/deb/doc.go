// Package deb builds limitgate's Debian package. It is a module of its own: nfpm, which writes the package, is no dependency of the
// product.
package deb
