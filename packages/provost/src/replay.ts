// Recorded runs, driven again.
export * from '@provost/replay'
