/** Options of `/api/chat`. */
export interface ChatOptions {
  /**
   * What a closed connection does to the run of its answer. `continue`: the answer is complete when the page loads again.
   * `abort`: for pages that stop by closing the connection; a reload stops the answer too. Default `continue`.
   */
  readonly onDisconnect?: 'continue' | 'abort'
}
