import { ProvostError, toErrorInfo } from '@provost/core'

export function storeClosed(): ProvostError {
  return new ProvostError('store-closed', 'The memory was closed.', {
    hint: 'Create the memory again, or close it later.',
  })
}

export function unusable(where: string, cause: unknown): ProvostError {
  if (cause instanceof ProvostError) return cause
  return new ProvostError('store-unusable', `The memory ${where} cannot be opened: ${toErrorInfo(cause).message}.`, {
    hint: 'Give a writable path, or a store that createMemory created.',
    cause,
  })
}

export function newerStore(where: string, version: number, known: number): ProvostError {
  return new ProvostError('newer-store', `The memory ${where} has version ${version}; this release reads ${known}.`, {
    hint: 'Open it with a newer release.',
  })
}
