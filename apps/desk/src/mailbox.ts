import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

import { codeOf, DeskError, reasonOf } from './fault.ts'
import { readMail } from './mail-thread.ts'
import { type Mail, maxMailBytes } from './mail.ts'

/** A folder of `.eml` files. */
export interface Mailbox {
  readonly dir: string
  /** The file names, sorted. */
  readonly names: readonly string[]
  /**
   * @throws DeskError of kind `mail` when the file cannot be read, is not a mail, or is not in `names`. The last check
   * keeps a name like `../../secrets` inside the folder.
   */
  read(name: string): Promise<Mail>
}

/**
 * Opens a folder of mails.
 *
 * @throws DeskError of kind `usage` when the folder does not exist or has no `.eml` file.
 */
export async function openMailbox(dir: string): Promise<Mailbox> {
  const names = (await listDir(dir)).filter((name) => /\.eml$/i.test(name)).toSorted()
  if (names.length === 0) throw new DeskError('usage', `There are no .eml files in ${dir}.`)
  const known = new Set(names)
  return {
    dir,
    names,
    async read(name) {
      if (!known.has(name)) throw new DeskError('mail', `There is no mail ${JSON.stringify(name)}.`)
      return readMail(name, await bytesOf(join(dir, name)))
    },
  }
}

async function listDir(dir: string): Promise<string[]> {
  try {
    return await readdir(dir)
  } catch (cause) {
    const code = codeOf(cause)
    const reason = code === 'ENOENT' ? 'does not exist' : code === 'ENOTDIR' ? 'is not a folder' : reasonOf(cause)
    throw new DeskError('usage', `The mail folder ${dir} ${reason}.`, { cause })
  }
}

async function bytesOf(path: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(path)
    // The parser rejects it by its length; there is no need to load it for that.
    if (size > maxMailBytes) throw new DeskError('mail', `Not a readable mail: it has ${size} bytes.`)
    return await readFile(path)
  } catch (cause) {
    if (cause instanceof DeskError) throw cause
    throw new DeskError('mail', `Cannot be read: ${reasonOf(cause)}.`, { cause })
  }
}
