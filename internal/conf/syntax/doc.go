// Package syntax turns nginx configuration text into a tree of directives and back. It knows words, quotes, comments,
// blocks and include; it does not know which directives exist or what they mean (package conf does).
//
// The rules for words are those of nginx's configuration reader (src/core/ngx_conf_file.c, ngx_conf_read_token):
//
//   - a word ends at white space, ";" or "{"; a word that starts with a quote ends at the next such quote;
//   - after a closing quote only white space, ";", "{" or ")" may follow;
//   - \" \' \\ \t \r \n stand for one character, before any other character the backslash stays in the word;
//   - "{" directly after "$" belongs to the word, so that ${name} needs no quotes;
//   - "#" starts a comment only where a word could start, "}" closes a block only there.
//
// Everything in the tree has a position. All errors are collected, with nginx's words, in the order of loading.
package syntax
