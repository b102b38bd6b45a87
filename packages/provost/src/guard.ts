// Provost's policies around a model call or an agent of another library.
export * from '@provost/guard'
