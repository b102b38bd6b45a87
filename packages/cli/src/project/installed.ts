import { ProvostError } from '@provost/core'

/**
 * Returns a module that is an optional dependency.
 *
 * @param load imports it.
 * @throws ProvostError `missing-package`
 */
export async function installed<T>(name: string, load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch (cause) {
    if (!isMissing(cause)) throw cause
    throw new ProvostError('missing-package', `This command needs the package ${name}, which is not installed.`, {
      hint: `npm install ${name}`,
      cause,
    })
  }
}

/** Returns whether an import failed because a package is not installed. */
export function isMissing(cause: unknown): boolean {
  return cause instanceof Error && 'code' in cause && cause.code === 'ERR_MODULE_NOT_FOUND'
}
