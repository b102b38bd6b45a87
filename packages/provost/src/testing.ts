// Scripted models, and conformance checks for stores and runtimes.
export * from '@provost/testing'
