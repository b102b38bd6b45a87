// Scripts that a model writes, and the sandbox they run in.
export * from '@provost/code-mode'
