/** What an input costs the process that takes it. */
export interface Figures {
  /** The longest time in which the event loop did nothing else, in ms. */
  readonly gapMs: number
  /** The most CPU of the main thread in one such gap, in ms: on a busy machine the wall clock says more than was used. */
  readonly gapCpuMs: number
  readonly wallMs: number
  /** CPU of all threads, in ms. */
  readonly cpuMs: number
  /** The most that the resident memory grew by, in MB. */
  readonly rssMb: number
}

const tickMs = 5

/** Runs something and measures what it costs; its result, or what it threw, comes with the figures. */
export async function measured(run: () => Promise<string>): Promise<{ outcome: string; figures: Figures }> {
  const rss = process.memoryUsage.rss()
  const cpu = process.cpuUsage()
  const start = performance.now()
  let [gapMs, gapCpuMs, mostRss] = [0, 0, rss]
  let [last, lastCpu] = [start, threadMs()]
  const look = (): void => {
    const [now, nowCpu] = [performance.now(), threadMs()]
    gapMs = Math.max(gapMs, now - last - tickMs)
    gapCpuMs = Math.max(gapCpuMs, nowCpu - lastCpu)
    mostRss = Math.max(mostRss, process.memoryUsage.rss())
    ;[last, lastCpu] = [now, nowCpu]
  }
  const timer = setInterval(look, tickMs)
  try {
    const outcome = await run().catch((thrown: unknown) => `threw ${describe(thrown)}`)
    look()
    const { user, system } = process.cpuUsage(cpu)
    const figures = {
      gapMs: Math.max(0, gapMs),
      gapCpuMs,
      wallMs: performance.now() - start,
      cpuMs: (user + system) / 1_000,
      rssMb: (mostRss - rss) / 2 ** 20,
    }
    return { outcome, figures }
  } finally {
    clearInterval(timer)
  }
}

function threadMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1_000
}

function describe(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown).slice(0, 200)
  const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : thrown.name
  return `${code}: ${thrown.message}`.slice(0, 200)
}
