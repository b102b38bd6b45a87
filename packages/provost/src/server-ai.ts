// An agent as a model of the AI SDK. Needs the package ai.
export * from '@provost/server/ai'
