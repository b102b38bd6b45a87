// The transport and the message types of `useChat` for a server. Needs the package ai.
export * from '@provost/client/ai'
