/** Imports a package that is installed beside this file. */
export function load(name: string): Promise<unknown> {
  return import(name)
}
