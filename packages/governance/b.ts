import { createTaintIndex } from '@provost/governance'
const L = { integrity: 'untrusted', confidentiality: 'internal', sources: ['m'] } as const
let seed = 1; const rnd = () => ((seed = Math.imul(seed, 1664525) + 1013904223 >>> 0) / 2**32)
const syl = 'ba be bi bo bu da de di do du ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra re ri ro ru sa se si so su ta te ti to tu th er an on st'.split(' ')
const words = Array.from({ length: 20000 }, () => Array.from({ length: 1 + Math.floor(rnd() * 4) }, () => syl[Math.floor(rnd() * syl.length)]).join(''))
const zipf = () => words[Math.floor(words.length ** rnd()) - 1] ?? 'a'
const prose = (n: number) => { const out = []; let len = 0; while (len < n) { const w = zipf() + (rnd() < 0.1 ? ', ' : rnd() < 0.08 ? '. ' : ' '); out.push(w); len += w.length } return out.join('').slice(0, n) }
const texts = Array.from({ length: 640 }, () => prose(25600))
for (const round of [1, 2]) {
const ix = createTaintIndex()
let worst = 0
let c0 = process.cpuUsage()
texts.forEach((t, i) => { const t0 = performance.now(); ix.add(t, { source: 's' + i, label: L }); worst = Math.max(worst, performance.now() - t0) })
let c = process.cpuUsage(c0)
console.log('add cpu', (c.user + c.system) / 1000, 'worst wall', worst, ix.stats, 'idx/byte', ix.stats.indexBytes / 16.4e6, 'with text', (ix.stats.indexBytes + ix.stats.textBytes) / 16.4e6)
const p10 = prose(10240), p1m = prose(1 << 20)
const esc = (s: string) => s.split(' ').map((w, i) => i % 4 === 0 ? encodeURIComponent('"' + w + ' ') : i % 4 === 1 ? w + '\\n' : i % 4 === 2 ? '&amp;' + w : w).join(' ')
const cases: Record<string, string> = { prose10: p10, b64_10: Buffer.from(prose(7680)).toString('base64'), esc10: esc(prose(8000)), url10: encodeURIComponent(prose(8500)), hex10: Buffer.from(prose(5120)).toString('hex'), prose1m: p1m, b64_1m: Buffer.from(prose(786432)).toString('base64'), esc1m: esc(prose(800000)), copy: texts[5] ?? '', aaaa: 'a'.repeat(1<<20) }
for (const [k, v] of Object.entries(cases)) { const n = v.length > 1e5 ? 5 : 60; const ts = []; let hits = 0; for (let i = 0; i < n; i++) { c0 = process.cpuUsage(); const t0 = performance.now(); hits = ix.check({ body: v }).length; ts.push(performance.now() - t0) } ts.sort((a, b) => a - b); console.log(k, v.length, 'median', ts[n >> 1]?.toFixed(2), 'min', ts[0]?.toFixed(2), 'hits', hits) }
if (round === 2) { let any = 0, any32 = 0; for (let i = 0; i < 2000; i++) { const h = ix.check({ x: prose(1024) }); if (h.length) any++; if (h.some((x) => x.length >= 32)) any32++ } console.log('chance', any / 2000, any32 / 2000) }
}
