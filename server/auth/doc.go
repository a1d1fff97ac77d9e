// Package auth decides who a caller is and what the caller may do (Nacos HTTP
// v1: auth; server cases SB-17, SB-18, SB-19).
//
// Here belong passwords, tokens, the key that signs them, the limits on
// guessing, and the matching of permissions. Here does not belong where users
// are kept ([Users] is what the rest has to offer), which route needs which
// [Resource], and how a refusal looks on the wire: an error says by its text what
// a Nacos client is told, and by its type which status that is.
//
// Trust comes from a token this installation signed or from a name with its
// password, and from nothing else: [Credentials] has no room for an agent, a
// forwarded address or any other thing a client could choose. What is not
// allowed by a permission is refused.
package auth
