/** Letters of other scripts that look like a Latin letter, by that letter. */
const byLatin: Readonly<Record<string, string>> = {
  a: 'аАαΑɑᴀ⍺Ꭺꓮ',
  b: 'вВВβΒʙᏴꓐƄ',
  c: 'сСϲϹᴄⅽⲥꓚᏟ',
  d: 'ԁᴅⅾꓓᎠ',
  e: 'еЕεΕєЄᴇҽꓰᎬ℮',
  f: 'ғϝꓝƒ',
  g: 'ɡԌԍցɢꓖᏀ',
  h: 'һНнΗհʜꓧᎻ',
  i: 'іІιΙıɩɪӏӀ∣ꓲ',
  j: 'јЈϳᴊꓙᎫ',
  k: 'кКκΚᴋҝꓗᏦ',
  l: 'ʟⅼꓡᏞ',
  m: 'мМΜᴍⅿꓟᎷ',
  n: 'ΝпПոռɴꓠ',
  o: 'оОοΟσօՕᴏ०০ⲟꓳ',
  p: 'рРρΡᴘⲣꓑᏢ',
  q: 'ԛԚզգ',
  r: 'гГʀᴦꓣᎡ',
  s: 'ѕЅꜱՏꓢᏚ',
  t: 'тТτΤᴛꓔᎢ',
  u: 'υսᴜμꓴՍ',
  v: 'νѵѴᴠⅴꓦᏙ',
  w: 'ѡԝԜᴡաꓪᎳ',
  x: 'хХχΧⅹҳꓫ',
  y: 'уУуΥүҮʏγꓬ',
  z: 'ΖᴢʐꓜᏃ',
}

/** From a letter of another script to the Latin letter it looks like. Letters in it are lower case. */
export const lookalikes: ReadonlyMap<string, string> = new Map(
  Object.entries(byLatin).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
)
