/** The built files of the page, as `@provost/console` exports them. */
export interface ConsolePage {
  /** Folder with `index.html` and `assets`. */
  readonly root: URL
  /** Names of the files in `assets`. No other file is served. */
  readonly assets: readonly string[]
}

/** How a server serves its console. */
export interface ConsoleOptions {
  /** Path of the page, without a trailing slash. Default `/console`. */
  readonly path?: string
  /**
   * The page: `import * as page from '@provost/console'`. Give it where the server cannot import the package by its name, such as in
   * a bundle. Requests wait for a promise of it. Default: the server imports the package at the first request.
   */
  readonly page?: ConsolePage | Promise<ConsolePage>
  /**
   * Without `authenticate`: the token that requests must send, at least 16 characters. Default: a random one, which the
   * address of the console contains.
   */
  readonly token?: string
}
