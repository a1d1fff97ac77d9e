// Package projection brings what the replicated state holds to where it is used:
// services, clusters and persistent instances into the naming core, the switches
// to everybody who obeys them, users to those who check passwords.
//
// What belongs here: translating the state's terms into those of the others, in
// the order in which the state changes. What does not: deciding anything. The
// rooms it joins know nothing of each other.
package projection
