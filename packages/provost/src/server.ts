// Agents over HTTP: events, approvals, chats.
export * from '@provost/server'
